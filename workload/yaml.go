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

// partBytes is the least size of a part of a long file. The YAML parser takes some 90 bytes
// of memory for each byte of text. So the items of jobs are parsed in parts, if jobs is at
// the top level and in block style. The rest of the file is short and makes one part.
// Indentation makes this safe: everything inside an item is indented deeper than the item's
// dash (docs/adr/0015).
const partBytes = 64 << 10

// mostPartBytes bounds a part. A file with jobs in brackets, and each job, is one part.
const mostPartBytes = 4 << 20

// part is a part of a file. Its first lines, up to line number after, have the same numbers
// in the file. Each later line is skip lines further down in the file.
type part struct {
	text        string
	after, skip int
}

// split divides a file into the items of its jobs and the rest. A part of the items has at
// least the given number of bytes, except the last one. Without jobs in block style, rest is
// the whole file and items is nil. Each part is valid YAML by itself. It keeps its
// indentation, so that the columns in messages are right.
func split(text string, bytes int) (rest part, items []part) {
	// Find the line `jobs:`.
	head, n := -1, 0 // the end of that line, and its number
	for at, end := 0, 0; at < len(text) && head < 0; at = end {
		end = lineEnd(text, at)
		n++
		if after, ok := strings.CutPrefix(text[at:end], "jobs:"); ok && insignificant(after) {
			head = end
		}
	}
	// There is none if jobs are in brackets, or have an anchor or a tag.
	if head < 0 {
		return part{text: text}, nil
	}
	// Cut the items that follow into parts.
	indent, line := -1, n       // the indentation of the first item, -1 until there is one
	start, startLine := head, n // where the current part begins
	tail := len(text)           // where the section ends
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
		// A line that is neither an item nor inside of one ends the section.
		if spaces < indent || spaces == indent && !dash {
			tail, line = at, line-1
			break
		}
		if spaces == indent && at-start >= bytes {
			items = append(items, part{text: text[start:at], skip: startLine})
			start, startLine = at, line-1
		}
	}
	// The section has no items, or its first line is not an item.
	if indent < 0 || start == tail || !startsItem(text[head:tail]) {
		return part{text: text}, nil
	}
	items = append(items, part{text: text[start:tail], skip: startLine})
	return part{text: text[:head] + text[tail:], after: n, skip: line - n}, items
}

// lineEnd returns the offset of the line after the one that contains offset at.
func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// insignificant reports whether a line is blank or only a comment. Such a line may have any
// indentation and does not end a section.
func insignificant(line string) bool {
	line = strings.TrimLeft(line, " \t\r\n")
	return line == "" || line[0] == '#'
}

// itemAt returns the indentation of a line, and whether the line begins with the dash
// of an item. White space follows such a dash. Any other dash begins a word or a number.
func itemAt(line string) (spaces int, dash bool) {
	rest := strings.TrimLeft(line, " ")
	after, dash := strings.CutPrefix(rest, "-")
	return len(line) - len(rest), dash && strings.TrimLeft(after, " \t\r\n") != after
}

// startsItem reports whether the first significant line of text begins with the dash of an item.
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

// parse parses a part and returns its tree. It returns nil after an error, and if the part
// has nothing but comments. The tree and messages have the line numbers of the whole file.
func (d *decoder) parse(p part) (body ast.Node) {
	defer func() {
		// Malformed text has made the parser panic. Such a file becomes an error.
		if r := recover(); r != nil {
			d.failAt(Pos{p.skip + 1, 1}, "", "the YAML parser stopped: %v", clean(fmt.Sprint(r)))
			body = nil
		}
	}()
	if len(p.text) > mostPartBytes {
		d.failAt(Pos{p.skip + 1, 1}, "", "more than %d MiB in one piece; only the items of jobs, each after a dash, may have more together", mostPartBytes>>20)
		return nil
	}
	// Tokens get the line numbers of the file before an error can use them.
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
	// The parser accepts repeated keys, because decoder.entries refuses them with both lines.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		at, what := Pos{p.skip + 1, 1}, ""
		if e := yaml.Error(nil); errors.As(err, &e) {
			what = e.GetMessage() // Error quotes the file around the place, in quadratic time
			if t := e.GetToken(); t != nil {
				at = posOf(t)
			}
		} else {
			what = err.Error()
		}
		d.failAt(at, "", "not YAML: %s", clean(what))
		return nil
	}
	// For the parser, comments and directives are documents of their own. They are skipped.
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.DirectiveType || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			d.fail(doc.Body, "", "a second document; a workload file has only one")
			return nil
		}
		body = doc.Body
	}
	return body
}

// clean returns the first line of a message of the YAML parser. The lines below it quote
// the file, and our messages have one line.
func clean(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	return strings.TrimSpace(strings.ToValidUTF8(line, "?"))
}

// tooMuch returns the first token at which a file nests deeper, or has a longer mapping,
// than any workload needs. what is the message. If there is no such token, tooMuch returns
// nil. It runs before the parser, because the parser calls itself for every level, every
// key of a mapping in block style and every document. A full stack ends the process, and Go
// cannot recover from that.
func tooMuch(tokens token.Tokens) (at *token.Token, what string) {
	const (
		mostFlow   = 50   // levels of brackets in brackets
		mostLine   = 50   // dashes, question marks and colons in a line, or between two commas in brackets
		mostRun    = 100  // tokens in a row of which none is a word
		mostIndent = 1000 // column of the first word of a line
		mostKeys   = 1000 // keys of a mapping in block style
		mostMarks  = 4    // document marks: --- and ...
		deep, long = "nested too deeply", "a mapping with too many keys"
	)
	// flow, line, run and marks are the counts so far that the limits above bound.
	var flow, line, run, marks, lastLine int
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
			return t, "a tag; a workload file has none"
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

// columns is the stack of the mappings in block style around a place of the file, the outermost
// first. It has the column of each mapping, and its number of keys so far.
type columns []struct{ column, keys int }

// count adds a dash, question mark or colon. It returns how many keys the mapping of this
// token has now; 0 for a dash, which belongs to a list.
func (c *columns) count(t *token.Token) int {
	column := t.Position.Column
	// The key stands before its colon, and the key's column is that of the mapping.
	if t.Type == token.MappingValueType && t.Prev != nil {
		column = t.Prev.Position.Column
	}
	n := len(*c)
	// Mappings that are indented deeper end here.
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

// placeOf returns where a node begins: a mapping in block style at its first key. It returns
// line 1, column 1 for a node without a place.
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
