//go:build !unix

package streaming

import (
	"context"
	"errors"
)

// Process is a running command. There is none on this system.
type Process struct{}

// errSystem is the error of all functions here.
var errSystem = errors.New("commands as mappers and reducers need a Unix system")

// Start fails.
func Start(context.Context, Config) (*Process, error) { return nil, errSystem }

// Write fails.
func (*Process) Write([]byte) error { return errSystem }

// Close fails.
func (*Process) Close() (int, error) { return 0, errSystem }

// Abandon does nothing.
func (*Process) Abandon() {}
