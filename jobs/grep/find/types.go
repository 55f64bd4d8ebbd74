package find

import (
	"embed"
	"strings"
)

// types has the file types.txt with the types that -t knows. They are the types of ripgrep 15, with
// ripgrep's globs. A line has the name of a type, then the globs of its files.
//
//go:embed types.txt
var types embed.FS

// typeGlobs returns the globs of the type of that name. As in ripgrep, all is each type. known is false if
// there is no such type.
func typeGlobs(name string) (globs []string, known bool) {
	text, err := types.ReadFile("types.txt")
	if err != nil {
		return nil, false // impossible, because the file is embedded
	}
	// A search through the text takes microseconds, so types is not a map, which each start would
	// have to build.
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); words[0] == name || name == "all" {
			globs = append(globs, words[1:]...)
		}
	}
	return globs, len(globs) > 0
}
