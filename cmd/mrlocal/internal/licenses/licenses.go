// Package licenses holds THIRD_PARTY: the notices of everything in the program that others
// wrote, which are modules of Go, the standard library, and files of the page. mrlocal version
// --licenses prints it.
//
// A test compares the file with the modules that are linked and with the files below web:
//
//	go test ./cmd/mrlocal/internal/licenses -rewrite
//
// writes it anew. The package keeps nothing. Neighbours: the command version calls it.
package licenses

import "embed"

//go:embed THIRD_PARTY
var files embed.FS

// Text returns the notices.
func Text() ([]byte, error) { return files.ReadFile("THIRD_PARTY") }
