package find

import (
	"os"
	"strings"

	"mrlocal/internal/scan"
)

// excludesFile is the setting core.excludesFile of git. A later file wins over an earlier one.
type excludesFile struct {
	home  string
	given bool
	path  string // its value
}

// read reads a file of settings. A file that is missing has none. As in ripgrep, includes have no effect.
func (e *excludesFile) read(file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		return
	}
	section := ""
	for rest := strings.TrimPrefix(string(data), scan.ByteOrderMark); rest != ""; {
		rest = strings.TrimLeft(rest, " \t\r\n")
		switch {
		case rest == "":
		case rest[0] == '#' || rest[0] == ';':
			_, rest, _ = strings.Cut(rest, "\n")
		case rest[0] == '[':
			section, rest = readSection(rest[1:])
		default:
			end := strings.IndexFunc(rest, func(r rune) bool { return strings.ContainsRune(" \t\r\n=#;", r) })
			if end < 0 {
				return // a name without a value
			}
			name := strings.ToLower(rest[:end])
			var value string
			if rest = strings.TrimLeft(rest[end:], " \t"); !strings.HasPrefix(rest, "=") {
				continue
			}
			value, rest = readValue(strings.TrimLeft(rest[1:], " \t"))
			if section != "core" || name != "excludesfile" {
				continue
			}
			if below, ok := strings.CutPrefix(value, "~/"); ok {
				value = e.home + "/" + below
			}
			e.given, e.path = true, value
		}
	}
}

// readSection reads the name of a section, whose opening bracket is read, and returns it with the text
// behind it. A section with a subsection, which stands in quotes and may have a bracket, has the name "".
func readSection(text string) (name, rest string) {
	head, rest, _ := strings.Cut(text, "]")
	if strings.Contains(head, `"`) {
		_, rest, _ = strings.Cut(text, `"]`)
		return "", rest
	}
	return strings.ToLower(head), rest
}

// readValue reads a value up to the end of the line, and returns it with the text behind the line. A
// backslash at the end continues the line. Quotes keep blanks and the marks of comments.
func readValue(text string) (value, rest string) {
	var b strings.Builder
	quoted, keep := false, 0 // keep is the length of the value without blanks at the end
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			return b.String()[:keep], text[i+1:]
		case c == '"':
			quoted = !quoted
			keep = b.Len()
			continue
		case (c == '#' || c == ';') && !quoted:
			_, rest, _ = strings.Cut(text[i:], "\n")
			return b.String()[:keep], rest
		case c == '\r' && strings.HasPrefix(text[i+1:], "\n"):
			continue
		case c == '\\' && i+1 < len(text):
			i++
			if text[i] == '\r' && strings.HasPrefix(text[i+1:], "\n") {
				i++
			}
			if text[i] == '\n' {
				continue
			}
			escaped, ok := map[byte]byte{'n': '\n', 't': '\t', 'b': '\b'}[text[i]]
			if !ok {
				escaped = text[i]
			}
			b.WriteByte(escaped)
			keep = b.Len()
		default:
			b.WriteByte(c)
			if quoted || c != ' ' && c != '\t' {
				keep = b.Len()
			}
		}
	}
	return b.String()[:keep], ""
}
