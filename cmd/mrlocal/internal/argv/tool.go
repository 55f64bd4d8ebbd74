package argv

import (
	"strings"

	"mrlocal/errs"
)

// ParseTool reads args, the words behind the name of a tool, as GNU tools read
// theirs. It differs from Parse in four points. A flag may be given again, and
// may be shortened to the letters that only its long name begins with, unless it
// is Whole. The word
// behind a flag that takes a value is the value, whatever it looks like. -h is a
// flag of the tool; Line.Help stands for --help alone.
func ParseTool(name string, args []string, flags []Flag) (Line, error) {
	like := make([]Flag, len(flags))
	for i, f := range flags {
		f.Any, f.Repeat = true, true
		like[i] = f
	}
	// As in scan, reading goes on after a mistake, because --help may follow.
	s := &scanned{}
	given := map[string]string{}
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == "--":
			// The index ends the loop; the words behind -- are all positional.
			s.words, i = append(s.words, args[i+1:]...), len(args)
		case word == "--help":
			s.help = true
		case strings.HasPrefix(word, "--"):
			full, err := complete(word, like)
			if err != nil {
				s.fail(err)
				continue
			}
			i += s.long(full, args[i+1:], like, given)
		case len(word) > 1 && word[0] == '-':
			i += s.short(word, args[i+1:], like, given)
		default:
			s.words = append(s.words, word)
		}
	}
	// Help wins over mistakes.
	if s.help {
		s.err = nil
	}
	return Line{Path: []string{name}, Flags: s.flags, Words: s.words, Help: s.help}, s.err
}

// complete returns --name or --name=value with the whole name of the flag that
// begins with it. It fails if several flags do.
func complete(word string, flags []Flag) (string, error) {
	name, value, attached := strings.Cut(word[2:], "=")
	// A whole name wins over longer names that begin with it.
	if byName(flags, name) != nil {
		return word, nil
	}
	var found []string
	for _, f := range flags {
		if !f.Whole && strings.HasPrefix(f.Name, name) {
			found = append(found, f.Name)
		}
	}
	switch {
	case len(found) > 1:
		return "", errs.Optionf("--"+name, "can be --%s", strings.Join(found, " or --"))
	case len(found) == 0:
		return word, nil // long says what is wrong
	// The value keeps its equals sign.
	case attached:
		return "--" + found[0] + "=" + value, nil
	}
	return "--" + found[0], nil
}
