package tools

import (
	"slices"
	"strings"

	"mrlocal/cmd/mrlocal/internal/argv"
)

const grepHelp = `Usage: mrlocal grep [FLAG]... PATTERN [PATH]...

Print the lines that match PATTERN, in RE2 syntax. Directories are searched with
all that is below; without PATH, standard input (with -r, the working directory).

  -e PATTERN, -f FILE   search for PATTERN, or for each line of FILE; may be repeated
  -E, -F                patterns are regular expressions (as always); are strings
  -i, -S                ignore case; only if no pattern has an upper case letter
  --no-ignore-case      the opposite of -i; of the three, the last one counts
  -U                    a match may span lines; each file is held in memory
  -v, -w, -x            lines that do not match; whole words; whole lines
  -a, -I                search binary files (a NUL byte in the first 64 KiB) as text; not
  --binary-files TYPE   binary, text as -a, without-match as -I

  -c, -l, -L, -q        only counts; files with a match; files without; exit code
  -o, -m N              only the matching parts; at most N lines of each file
  -n, -b, -H, -h        line numbers; offsets in bytes; paths before lines; no paths
  -T, --label PATH      a tab before the text of lines; the path of standard input
  -A N, -B N, -C N, -N  N lines after, before, around each selected line
  --group-separator TEXT, --no-group-separator
                        the line between groups of lines; none
  -z                    a NUL byte ends each line, of input and output
  -Z, -0, --null        a NUL byte follows each path
  --color WHEN          auto, always or never; GREP_COLORS has the colours
  --json                JSON lines, as ripgrep writes them
  -s                    say nothing about files that cannot be read

  -r, -R                without PATH, search the working directory; -R follows links
  -d ACTION, -D ACTION  directories: recurse, read (an error), skip; devices: read, skip
  --follow              follow links inside directories
  --files               print the paths that would be searched; there is no PATTERN
  -g GLOB               files that match GLOB; with a leading !, those that do not
  -t TYPE               files of a type, such as go, py, c, md
  --include GLOB, --exclude GLOB, --exclude-dir GLOB, --exclude-from FILE
                        by names, as in GNU grep; the last one that matches counts
  --hidden              files and directories whose names begin with a dot too
  --no-ignore, -u       read no .gitignore, .ignore; -uu: --hidden as well
  --sort BY             order of files: path, modified, accessed, created; none is as path
  --decode WHAT         utf16 (the default): text with a mark of UTF-16; auto: compressed
                        files, too; none: no file

Exit codes: 0 a line was selected, 1 none, 2 an error. --help-all has more flags.
`

// grepFlags returns the flags of GNU grep that this tool knows, and those of ripgrep that choose files.
// For the parser, two spellings such as --color and --colour are two flags, and grepOptions reads both.
// -G and -P are missing, because patterns have only the syntax of RE2. --line-buffered and --binary have
// no effect: lines appear as soon as the input pauses, and there are no text files of Windows.
func grepFlags() []argv.Spec {
	var specs []argv.Spec
	add := func(like argv.Flag, names ...string) { // each is "long" or "long,letter"
		for _, n := range names {
			like.Name, like.Short, _ = strings.Cut(n, ",")
			specs = append(specs, argv.Spec{Flag: like})
		}
	}
	add(argv.Flag{Value: true}, "regexp,e", "file,f", "max-count,m", "after-context,A", "before-context,B", "context,C",
		"color", "colour", "include", "exclude", "exclude-dir", "exclude-from",
		"binary-files", "label", "group-separator", "directories,d", "devices,D")
	add(argv.Flag{}, "extended-regexp,E", "fixed-strings,F", "ignore-case,i", "invert-match,v", "word-regexp,w", "line-regexp,x",
		"text,a", "count,c", "files-with-matches,l", "files-without-match,L", "quiet,q", "silent", "only-matching,o",
		"line-number,n", "with-filename,H", "no-filename,h", "null-data,z", "null,Z", "no-messages,s", "recursive,r", "dereference-recursive,R",
		"no-ignore-case", "byte-offset,b", "initial-tab,T", "no-group-separator", "line-buffered", "binary")
	// The beginning of a long name means a flag of GNU grep, so these names must be whole.
	add(argv.Flag{Value: true, Whole: true}, "glob,g", "type,t", "sort", "decode")
	add(argv.Flag{Whole: true}, "without-match,I", "multiline,U", "smart-case,S", "null,0", "json", "hidden", "no-ignore", "unrestricted,u", "follow", "files")
	return specs
}

// rewriteGrep is Tool.Rewrite of mrlocal grep. It turns --color without a value into --color=auto, because
// for the parser a flag takes a value always or never. It turns -NUM, which may stand in a bundle of
// letters, into --context=NUM.
func rewriteGrep(args []string) ([]string, error) {
	var words []string
	flags := append(grepFlags(), engineFlags()...)
	for i := 0; i < len(args); i++ {
		word, next := args[i], false
		switch name, long := strings.CutPrefix(word, "--"); {
		case word == "--":
			return append(words, args[i:]...), nil
		case isColor(name):
			_, when, given := strings.Cut(name, "=")
			if !given {
				when = "auto"
			}
			words = append(words, "--color="+when)
		case long:
			words = append(words, word)
			// A shortened name means one flag, or the parser refuses it.
			if f := argv.Named(name, flags); f != nil {
				next = f.Value
			} else {
				next = slices.ContainsFunc(flags, func(f argv.Spec) bool { return f.Value && !f.Whole && strings.HasPrefix(f.Name, name) })
			}
		case len(word) > 1 && word[0] == '-':
			var bundle []string
			bundle, next = unbundle(word, flags)
			words = append(words, bundle...)
		default:
			words = append(words, word)
		}
		// The next word is a value, even if it looks like a flag.
		if next && i+1 < len(args) {
			i++
			words = append(words, args[i])
		}
	}
	return words, nil
}

// isColor reports whether name, which may have a value, is --color or --colour, or a beginning that means
// both.
func isColor(name string) bool {
	name, _, _ = strings.Cut(name, "=")
	return strings.HasPrefix(name, "col") && (strings.HasPrefix("color", name) || strings.HasPrefix("colour", name))
}

// unbundle takes -NUM, -y and -V out of a bundle of letters. A 0 alone is a letter. next says that the
// value of the last letter is the next word.
func unbundle(word string, flags []argv.Spec) (words []string, next bool) {
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
			keep(len(word))
			return words, i+1 == len(word)
		}
		i = end
	}
	keep(len(word))
	return words, false
}
