package process

import "embed"

// thirdParty has THIRD_PARTY: the notices of all that others wrote. These are modules of Go,
// the standard library, and files of the page. A test compares it with the modules that are
// linked and with the files below web:
//
//	go test ./cmd/mrlocal/internal/process -run Notice -rewrite
//
// writes it anew.
//
//go:embed THIRD_PARTY
var thirdParty embed.FS

// Notices returns the notices of others.
func Notices() ([]byte, error) { return thirdParty.ReadFile("THIRD_PARTY") }
