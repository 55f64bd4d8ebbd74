package flags

import (
	"slices"
	"strings"
	"unicode/utf8"

	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
)

// plain is a command line as the flag library takes it.
type plain struct {
	flags []string // as --name=value, or --name, in the order given
	words []string // the others
	help  bool     // the line has --help, --help-all, or -h where -h is not another flag
	all   bool     // the line has --help-all
}

// normalise puts the words of a GNU command line into plain form. Flags may stand between other words,
// and -- ends them. Letters may be bundled (-rn), with a value attached (-k2,3n). The word after a flag
// that takes a value is its value. A flag that all does not have stays as it is, so that the library
// refuses it. In a tool a long name may be shortened, and the word after a flag is always its value.
// With ask, -h asks for help.
func (c *Command) normalise(all []setting.Setting, args []string, ask bool) (p plain, err error) {
	short := c.Tool
	for i := 0; i < len(args); i++ {
		switch word := args[i]; {
		case word == "--":
			p.words = append(p.words, args[i+1:]...)
			return p, nil
		case word == "--help" || word == "--help-all" || word == "-h" && ask:
			p.help, p.all = true, p.all || word == "--help-all"
		case strings.HasPrefix(word, "--help="):
			return p, errs.Optionf("--help", "takes no value")
		case strings.HasPrefix(word, "--"):
			name, value, attached := strings.Cut(word[2:], "=")
			s, err := long(all, name, short)
			switch {
			case err != nil:
				return p, err
			case s == nil:
				p.flags = append(p.flags, word)
				continue
			case !attached && s.Toggle():
				p.flags = append(p.flags, "--"+s.Name)
				continue
			case value == "true" && s.Toggle(): // the library takes it for a flag without a value
				return p, errs.Optionf("--"+s.Name, "true: no such value")
			case !attached:
				i++
				if value, err = next(all, s, word, args[i:], short); err != nil {
					return p, err
				}
			}
			p.flags = append(p.flags, "--"+s.Name+"="+value)
		case len(word) > 1 && word[0] == '-': // a dash alone is standard input
			used, err := p.bundle(c, all, word, args[i+1:])
			if i += used; err != nil {
				return p, err
			}
		default:
			used, err := p.word(c, args[i:])
			if i += used - 1; err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

// word reads the first of args, which has no dash, and returns how many of them it takes.
func (p *plain) word(c *Command, args []string) (used int, err error) {
	flag := ""
	if c.OldWords != nil {
		flag, used, err = c.OldWords(args)
	}
	if used == 0 || err != nil {
		p.words = append(p.words, args[0])
		return 1, err
	}
	p.flags = append(p.flags, flag)
	return used, nil
}

// bundle reads word, letters of flags. It returns how many words of rest it takes: 1 if the last letter
// is a flag whose value is the next word.
func (p *plain) bundle(c *Command, all []setting.Setting, word string, rest []string) (used int, err error) {
	for i := 1; i < len(word); {
		_, n := utf8.DecodeRuneInString(word[i:])
		letter := word[i : i+n]
		s := byLetter(all, letter)
		if s == nil && c.OldLetters != nil {
			if flag, used := c.OldLetters(word[i:]); used > 0 {
				p.flags, i = append(p.flags, flag), i+used
				continue
			}
		}
		i += n
		switch {
		case s == nil:
			return 0, unknownLetter(all, word, letter)
		case s.Toggle():
			p.flags = append(p.flags, "--"+s.Name)
		case i < len(word): // the value is attached
			p.flags = append(p.flags, "--"+s.Name+"="+word[i:])
			return 0, nil
		default:
			value, err := next(all, s, "-"+letter, rest, c.Tool)
			p.flags = append(p.flags, "--"+s.Name+"="+value)
			return 1, err
		}
	}
	return 0, nil
}

// next returns the value of s, the first word of rest. as is the flag as the user wrote it.
func next(all []setting.Setting, s *setting.Setting, as string, rest []string, short bool) (string, error) {
	if len(rest) == 0 {
		return "", errs.Optionf(as, "needs a value")
	}
	// If the next word is the name of a flag, the user most likely forgot the value.
	if name, isLong := strings.CutPrefix(rest[0], "--"); isLong && !s.Literal && !short {
		name, _, _ = strings.Cut(name, "=")
		if name == "help" || setting.Named(all, name) != nil {
			return "", errs.Optionf(as, "needs a value, but the flag --%s follows; if that is the value, write --%s=%s", name, s.Name, errs.Quote(rest[0]))
		}
	}
	return rest[0], nil
}

// long returns the setting of that name, or nil. With short, the name may be the beginning of one name
// that is not Whole.
func long(all []setting.Setting, name string, short bool) (*setting.Setting, error) {
	if s := setting.Named(all, name); s != nil || !short {
		return s, nil
	}
	var found []string
	for i := range all {
		if s := &all[i]; !s.Whole && strings.HasPrefix(s.Name, name) {
			found = append(found, s.Name)
		}
	}
	if len(found) < 2 {
		return setting.Named(all, strings.Join(found, "")), nil
	}
	return nil, errs.Optionf("--"+name, "can be --%s", strings.Join(found, " or --"))
}

// byLetter returns the setting with that letter, or nil.
func byLetter(all []setting.Setting, letter string) *setting.Setting {
	if i := slices.IndexFunc(all, func(s setting.Setting) bool { return s.Short == letter || s.Name == letter }); i >= 0 {
		return &all[i]
	}
	return nil
}
