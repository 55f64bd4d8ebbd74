package engine

import (
	"mrlocal/input"
	"mrlocal/internal/guard"
)

// guardSearch returns the search with guarded functions. If one of them panics, it panics with a
// *guard.Error.
func guardSearch(s *input.Search) *input.Search {
	guard := func(what string, f func()) {
		if err := guard.Run(what, func() error { f(); return nil }); err != nil {
			panic(err)
		}
	}
	g := *s
	g.Paths = func(yield func(string) bool) { guard("paths of a search", func() { s.Paths(yield) }) }
	g.Missing = func(path string, cause error) { guard("missing file of a search", func() { s.Missing(path, cause) }) }
	return &g
}
