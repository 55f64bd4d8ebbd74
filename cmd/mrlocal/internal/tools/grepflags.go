package tools

import (
	"slices"
	"strings"

	"mrlocal/cmd/mrlocal/internal/argv"
)

// grepFlags returns the flags of GNU grep that this tool knows, and those of ripgrep that choose files.
// For the parser, two spellings such as --color and --colour are two flags, and grepOptions reads both.
// -G and -P are missing, because patterns have only the syntax of RE2. --line-buffered and --binary have
// no effect: lines appear as soon as the input pauses, and there are no text files of Windows.
func grepFlags() []argv.Spec {
	return slices.Concat(
		specs(argv.Flag{Value: true}, "regexp,e", "file,f", "max-count,m", "after-context,A", "before-context,B", "context,C",
			"color", "colour", "include", "exclude", "exclude-dir", "exclude-from",
			"binary-files", "label", "group-separator", "directories,d", "devices,D"),
		specs(argv.Flag{}, "extended-regexp,E", "fixed-strings,F", "ignore-case,i", "invert-match,v", "word-regexp,w", "line-regexp,x",
			"text,a", "count,c", "files-with-matches,l", "files-without-match,L", "quiet,q", "silent", "only-matching,o",
			"line-number,n", "with-filename,H", "no-filename,h", "null-data,z", "null,Z", "no-messages,s", "recursive,r", "dereference-recursive,R",
			"no-ignore-case", "byte-offset,b", "initial-tab,T", "no-group-separator", "line-buffered", "binary"),
		// The beginning of a long name means a flag of GNU grep, so these names must be whole.
		specs(argv.Flag{Value: true, Whole: true}, "glob,g", "type,t", "sort", "decode"),
		specs(argv.Flag{Whole: true}, "without-match,I", "multiline,U", "smart-case,S", "0", "json", "hidden", "no-ignore", "unrestricted,u", "follow", "files"))
}

// grepForms is Tool.Forms of mrlocal grep. It turns --color without a value into --color=auto, because
// for the parser a flag takes a value always or never. It turns -NUM, which may stand in a bundle of
// letters, into --context=NUM.
func grepForms(args []string) (words []string, used int, err error) {
	switch name, long := strings.CutPrefix(args[0], "--"); {
	case long && isColor(name):
		_, when, given := strings.Cut(name, "=")
		if !given {
			when = "auto"
		}
		return []string{"--color=" + when}, 1, nil
	case !long && len(name) > 1 && name[0] == '-':
		return unbundle(name, append(grepFlags(), engineFlags()...)), 1, nil
	}
	return nil, 0, nil
}

// isColor reports whether name, which may have a value, is --color or --colour, or a beginning that means
// both.
func isColor(name string) bool {
	name, _, _ = strings.Cut(name, "=")
	return strings.HasPrefix(name, "col") && (strings.HasPrefix("color", name) || strings.HasPrefix("colour", name))
}

// unbundle takes -NUM, -y and -V out of a bundle of letters. A 0 alone is a letter.
func unbundle(word string, flags []argv.Spec) (words []string) {
	from := 1 // word[from:] is not in words yet
	keep := func(to int) {
		if to > from {
			words = append(words, "-"+word[from:to])
		}
	}
	for i := 1; i < len(word); {
		end, meant := i+1, ""
		for isDigit(word[i]) && end < len(word) && isDigit(word[end]) {
			end++
		}
		switch {
		case isDigit(word[i]) && word[i:end] != "0":
			meant = "--context=" + word[i:end]
		case word[i] == 'y':
			meant = "-i"
		case word[i] == 'V':
			meant = "--version"
		}
		if meant != "" {
			keep(i)
			words, from = append(words, meant), end
		} else if f := argv.Named(word[i:i+1], flags); f != nil && f.Value {
			break // the rest is its value
		}
		i = end
	}
	keep(len(word))
	return words
}
