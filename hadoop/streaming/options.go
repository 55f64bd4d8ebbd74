package streaming

import (
	"fmt"
	"slices"
	"strings"
)

// many is the number of values of an option that takes all that follow. No command line has so
// many, so loops need no case of their own.
const many = 1 << 30

// valuesOf returns the greatest number of values that an option of hadoop-streaming takes; 0
// means that the option is on or off. name has no hyphens. The list is that of
// StreamJob.setupOptions.
func valuesOf(name string) (values int, known bool) {
	switch name {
	case "input", "file", "cacheFile", "cacheArchive":
		return many, true
	case "output", "mapper", "combiner", "reducer", "dfs", "additionalconfspec", "inputformat", "outputformat",
		"partitioner", "numReduceTasks", "inputreader", "mapdebug", "reducedebug", "jobconf", "cmdenv", "io":
		return 1, true
	case "background", "verbose", "info", "debug", "help", "lazyOutput":
		return 0, true
	}
	return 0, false
}

// TakesValue reports whether an option of hadoop-streaming, or a generic one, takes a value. name has no hyphens.
func TakesValue(name string) bool {
	values, _ := valuesOf(name)
	return values > 0 || isGeneric(name)
}

// isGeneric reports whether an option is one of Hadoop's generic options, which come before
// all others. name has no hyphens.
func isGeneric(name string) bool {
	return slices.Contains([]string{"conf", "D", "fs", "jt", "libjars", "files", "archives", "tokenCacheFile"}, name)
}

// bare returns an option without its one or two hyphens.
func bare(word string) string {
	if rest, ok := strings.CutPrefix(word, "--"); ok {
		return rest
	}
	return strings.TrimPrefix(word, "-")
}

// unquote removes double quotes around a word that has no others inside (commons-cli). The
// user's shell has already removed one pair.
func unquote(word string) string {
	if len(word) > 1 && word[0] == '"' && word[len(word)-1] == '"' && !strings.Contains(word[1:len(word)-1], `"`) {
		return word[1 : len(word)-1]
	}
	return word
}

// givenOption is an option of the command line, with its values in order. An option that is
// on or off has none.
type givenOption struct {
	name   string // without hyphens
	values []string
}

// generic reads the generic options at the start of args, as GnuParser does. It stops at the
// first word that is not one of them. rest is the part of args from there on.
func generic(args []string) (options []givenOption, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		name, value, attached := genericName(args[i])
		if name == "" {
			// -- ends the options and is itself dropped.
			if args[i] == "--" {
				i++
			}
			return options, args[i:], nil
		}
		if !attached {
			// A value may begin with a hyphen, unless it is a generic option itself.
			if i+1 == len(args) || strings.HasPrefix(args[i+1], "-") && isGeneric(bare(args[i+1])) {
				return options, args, &Error{Exit: 1, Lines: []string{"Missing argument for option: " + name}}
			}
			i++
			value = args[i]
		}
		options = append(options, givenOption{name, []string{unquote(value)}})
	}
	return options, nil, nil
}

// genericName returns the name of the generic option that a word is, or "" if it is none.
// attached says that the word also holds the value, as in -Dx=1 or -files=a. Otherwise the
// value is the next word.
func genericName(word string) (name, value string, attached bool) {
	if !strings.HasPrefix(word, "-") || word == "-" || word == "--" {
		return "", "", false
	}
	opt := bare(word)
	if isGeneric(opt) {
		return opt, "", false
	}
	if before, after, ok := strings.Cut(opt, "="); ok && isGeneric(before) {
		return before, after, true
	}
	// -D alone may have its value without a sign between. This comes last, so that no other option
	// is taken for it.
	if strings.HasPrefix(word, "-D") {
		return "D", word[2:], true
	}
	return "", "", false
}

// specific reads the options of hadoop-streaming, as BasicParser does. A word behind an option
// that takes more values is a value, even if it begins with a hyphen, unless it is an option
// itself. stray has the words that belong to no option. The error has Hadoop's text; the caller
// adds the hint at -help.
func specific(args []string) (options []givenOption, stray []string, err error) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == "--":
			return options, append(stray, args[i+1:]...), nil
		case !strings.HasPrefix(word, "-") || word == "-":
			stray = append(stray, word)
			continue
		}
		name := bare(word)
		most, known := valuesOf(name)
		if !known {
			//lint:ignore ST1005 as Hadoop words it
			return options, stray, fmt.Errorf("Unrecognized option: %s", word)
		}
		o := givenOption{name: name}
		for len(o.values) < most && i+1 < len(args) {
			next := args[i+1]
			if _, isOption := valuesOf(bare(next)); strings.HasPrefix(next, "-") && isOption {
				break
			}
			o.values = append(o.values, unquote(next))
			i++
		}
		if most > 0 && len(o.values) == 0 {
			//lint:ignore ST1005 as Hadoop words it
			return options, stray, fmt.Errorf("Missing argument for option: %s", name)
		}
		options = append(options, o)
	}
	return options, stray, nil
}
