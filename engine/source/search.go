package source

import "mrlocal/input"

// GuardSearch returns the search with guarded functions. If one of them panics, it panics with a
// *UserError.
func GuardSearch(s *input.Search) *input.Search {
	guard := func(what string, f func()) {
		if err := Guard(what, func() error { f(); return nil }); err != nil {
			panic(err)
		}
	}
	g := *s
	g.Paths = func(yield func(string) bool) { guard("paths of a search", func() { s.Paths(yield) }) }
	g.Missing = func(path string, cause error) { guard("missing file of a search", func() { s.Missing(path, cause) }) }
	return &g
}
