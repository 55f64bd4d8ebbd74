//go:build !unix

package child

import (
	"context"
	"errors"
)

// Process is a command that runs; there is none on this system.
type Process struct{}

var errSystem = errors.New("commands as mappers and reducers need a Unix system")

// Start fails.
func Start(context.Context, Config) (*Process, error) { return nil, errSystem }

// Write fails.
func (*Process) Write([]byte) error { return errSystem }

// Close fails.
func (*Process) Close() (Exit, error) { return Exit{}, errSystem }

// Abandon does nothing.
func (*Process) Abandon() {}
