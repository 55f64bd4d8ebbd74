package workload

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The YAML parser takes some 90 bytes of memory for each byte of a file. So a file is
// parsed in parts: the items of a top-level jobs: in block style, at least partBytes
// at a time, and the rest, which is short. Indentation makes this safe: everything
// inside an item is indented deeper than the item's dash (docs/adr/0015).
const partBytes = 64 << 10

// part is a part of a file. A line of text after line number after is skip lines
// further down in the file.
type part struct {
	text        string
	after, skip int
}

// split divides a file into the items of its jobs, in parts of at least that many
// bytes, and the rest. Without jobs in block style, rest is the whole file.
// Each part is valid YAML by itself. It keeps its indentation, so columns in messages
// are right.
func split(text string, bytes int) (rest part, items []part) {
	head, n := -1, 0 // the end of the line `jobs:`, and its number
	for at, end := 0, 0; at < len(text) && head < 0; at = end {
		end = lineEnd(text, at)
		n++
		if after, ok := strings.CutPrefix(text[at:end], "jobs:"); ok && insignificant(after) {
			head = end
		}
	}
	// jobs in brackets, or jobs with an anchor or a tag, are parsed with the whole file.
	if head < 0 {
		return part{text: text}, nil
	}
	// The indentation of the first item; -1 until there is one.
	indent, line := -1, n
	start, startLine := head, n // of the part
	tail := len(text)
	for at, end := head, head; at < len(text); at = end {
		end = lineEnd(text, at)
		line++
		if insignificant(text[at:end]) {
			continue
		}
		spaces, dash := itemAt(text[at:end])
		if indent < 0 {
			indent = spaces
		}
		// A line that is not indented as an item ends the section.
		if spaces < indent || spaces == indent && !dash {
			tail, line = at, line-1
			break
		}
		if spaces == indent && at-start >= bytes {
			items = append(items, part{text: text[start:at], skip: startLine})
			start, startLine = at, line-1
		}
	}
	// The section has no items, or begins with something else.
	if indent < 0 || start == tail || !startsItem(text[head:tail]) {
		return part{text: text}, nil
	}
	items = append(items, part{text: text[start:tail], skip: startLine})
	return part{text: text[:head] + text[tail:], after: n, skip: line - n}, items
}

// lineEnd returns the place behind the line that at lies in, and behind its newline.
func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// insignificant reports whether a line is blank or a comment.
// Such a line may have any indentation, so it does not end a section.
func insignificant(line string) bool {
	line = strings.TrimLeft(line, " \t\r\n")
	return line == "" || line[0] == '#'
}

// itemAt returns the indentation of a line, and whether the line begins with the dash
// of an item.
// A dash must be followed by white space. Otherwise it begins a word or a number.
func itemAt(line string) (spaces int, dash bool) {
	rest := strings.TrimLeft(line, " ")
	after, dash := strings.CutPrefix(rest, "-")
	return len(line) - len(rest), dash && strings.TrimLeft(after, " \t\r\n") != after
}

// startsItem reports whether the first line of text that counts begins with a dash.
func startsItem(text string) bool {
	for at, end := 0, 0; at < len(text); at = end {
		end = lineEnd(text, at)
		if !insignificant(text[at:end]) {
			_, dash := itemAt(text[at:end])
			return dash
		}
	}
	return false
}

// parse parses a part. It returns nil if the part has nothing but comments.
// Lines in messages are those of the whole file.
func (d *decoder) parse(p part) (body ast.Node) {
	defer func() {
		if r := recover(); r != nil { // a bug of the parser refuses the file
			d.failAt(Pos{p.skip + 1, 1}, "", "not YAML that can be read: %v", clean(fmt.Sprint(r)))
			body = nil
		}
	}()
	// Tokens carry their places, so they are moved before an error can name one.
	tokens := lexer.Tokenize(p.text)
	for _, t := range tokens {
		if t.Position.Line > p.after {
			t.Position.Line += p.skip
		}
	}
	if t, what := tooMuch(tokens); t != nil {
		d.failAt(posOf(t), "", "%s", what)
		return nil
	}
	// Repeated keys pass the parser. decoder.entries reports them with both lines.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		at, what := Pos{p.skip + 1, 1}, ""
		if e := yaml.Error(nil); errors.As(err, &e) {
			what = e.GetMessage() // Error prints the file, in quadratic time
			if t := e.GetToken(); t != nil {
				at = posOf(t)
			}
		} else {
			what = err.Error()
		}
		d.failAt(at, "", "not YAML: %s", clean(what))
		return nil
	}
	// Comments and directives count as documents of their own for the parser.
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.DirectiveType || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			d.fail(doc.Body, "", "a second document; a workload is one")
			return nil
		}
		body = doc.Body
	}
	return body
}

// clean returns the first line of a message of the YAML parser.
// Messages must stay on one line, and the parser quotes parts of the file below its
// first line.
func clean(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	return strings.TrimSpace(strings.ToValidUTF8(line, "?"))
}

// tooMuch returns the first token at which a file nests deeper, or has a longer
// mapping, than any workload needs. It also says what is wrong. It returns nil if there
// is no such token. The parser calls itself for every level, for every key of a mapping
// in block style and for every document. Go cannot recover from a full stack.
func tooMuch(tokens token.Tokens) (at *token.Token, what string) {
	const (
		mostFlow   = 50   // brackets in brackets
		mostLine   = 50   // dashes, question marks and colons of a line, or between commas in brackets
		mostRun    = 100  // of these and anchors with no word between them
		mostIndent = 1000 // of the first word of a line
		mostKeys   = 1000 // of a mapping outside of brackets
		mostMarks  = 4    // --- and ...
		deep, long = "nested too deeply", "a mapping of too many keys"
	)
	flow, line, run, marks, lastLine := 0, 0, 0, 0, 0
	var keys columns
	for _, t := range tokens {
		if flow == 0 && t.Position.Line != lastLine {
			lastLine, line = t.Position.Line, 0
			if t.Position.Column > mostIndent && t.Type != token.CommentType {
				return t, deep
			}
		}
		run++
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow, line = flow+1, 0
		case token.SequenceEndType, token.MappingEndType:
			flow, line = max(0, flow-1), 0
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
			if line++; flow == 0 && keys.count(t) > mostKeys {
				return t, long
			}
		case token.DocumentHeaderType, token.DocumentEndType:
			if marks++; marks > mostMarks {
				return t, "more than one document"
			}
		case token.CollectEntryType:
			line = 0
		case token.TagType:
			return t, "a tag; a workload has none"
		case token.AnchorType, token.AliasType:
		default:
			if t.Prev == nil || t.Prev.Type != token.AnchorType { // not an anchor's name
				run = 0
			}
		}
		if flow > mostFlow || line > mostLine || run > mostRun {
			return t, deep
		}
	}
	return nil, ""
}

// columns holds the mappings in block style that are open at a place of the file: the
// column of each, and its keys so far.
type columns []struct{ column, keys int }

// count counts a dash, question mark or colon. It returns how many keys its mapping
// has now.
func (c *columns) count(t *token.Token) int {
	column := t.Position.Column
	if t.Type == token.MappingValueType && t.Prev != nil {
		column = t.Prev.Position.Column
	}
	n := len(*c)
	for n > 0 && (*c)[n-1].column > column {
		n--
	}
	*c = (*c)[:n]
	if t.Type == token.SequenceEntryType {
		return 0
	}
	if n == 0 || (*c)[n-1].column < column {
		*c = append(*c, struct{ column, keys int }{column, 0})
		n++
	}
	(*c)[n-1].keys++
	return (*c)[n-1].keys
}

func posOf(t *token.Token) Pos { return Pos{t.Position.Line, t.Position.Column} }

// placeOf returns where a node begins.
func placeOf(n ast.Node) Pos {
	switch v := n.(type) {
	case *ast.MappingNode:
		if !v.IsFlowStyle && len(v.Values) > 0 {
			return placeOf(v.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return placeOf(v.Key)
	}
	if n != nil {
		if t := n.GetToken(); t != nil && t.Position != nil {
			return posOf(t)
		}
	}
	return Pos{1, 1}
}
