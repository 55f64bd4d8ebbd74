package grep

import "strings"

// This file writes text in the colours of GNU grep, as escape sequences of terminals.

// Mark is a part of the output that has a colour of its own.
type Mark uint8

const (
	SelectedMatch Mark = iota // a match in a selected line
	ContextMatch              // a match in a line around others, which -v has
	SelectedLine              // the other text of a selected line
	ContextLine
	Path
	Number
	Offset
	Separator
	marks // their number
)

// Scheme has the colours of GNU grep. Each is the numbers of an escape sequence of terminals; "": none.
type Scheme struct {
	of      [marks]string
	Reverse bool // with -v, lines have the colours of each other
	keeps   bool // no change of colour erases the rest of the terminal's line
}

// New returns GNU grep's default colours with the changes that text describes, in the form of its
// variable GREP_COLORS. As in GNU grep, nothing behind a part that is wrong has an effect.
func NewColors(text string) *Scheme {
	c := &Scheme{of: [marks]string{
		SelectedMatch: "01;31", ContextMatch: "01;31", Path: "35", Number: "32", Offset: "32", Separator: "36",
	}}
	names := map[string]Mark{"ms": SelectedMatch, "mt": SelectedMatch, "mc": ContextMatch, "sl": SelectedLine, "cx": ContextLine,
		"fn": Path, "ln": Number, "bn": Offset, "se": Separator}
	for part := range strings.SplitSeq(text, ":") {
		name, value, given := strings.Cut(part, "=")
		if given && (name == "" || strings.Trim(value, "0123456789;") != "") {
			break
		}
		if m, ok := names[name]; ok && given {
			c.of[m] = value
		}
		switch name {
		case "mt":
			c.of[ContextMatch] = c.of[SelectedMatch]
		case "rv":
			c.Reverse = true
		case "ne":
			c.keeps = true
		}
	}
	return c
}

// Paint appends text in the colour of a mark. c may be nil. Like GNU grep, it also erases to the end of
// the terminal's line at each change of colour.
func (c *Scheme) Paint(dst []byte, m Mark, text []byte) []byte {
	if c == nil || c.of[m] == "" {
		return append(dst, text...)
	}
	dst = append(append(c.Begin(dst, m), text...), "\x1b[m"...)
	if !c.keeps {
		dst = append(dst, "\x1b[K"...)
	}
	return dst
}

// Begin appends the escape sequence that begins the colour of a mark. m sets the colour, and K erases to
// the end of the line.
func (c *Scheme) Begin(dst []byte, m Mark) []byte {
	if c.of[m] == "" {
		return dst
	}
	dst = append(append(append(dst, "\x1b["...), c.of[m]...), 'm')
	if !c.keeps {
		dst = append(dst, "\x1b[K"...)
	}
	return dst
}

// Has reports whether a mark has a colour.
func (c *Scheme) Has(m Mark) bool { return c.of[m] != "" }
