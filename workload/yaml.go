package workload

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"mrlocal/internal/errs"
)

// pieceBytes is the least size of a piece of a long file. The tree of a file takes some 24 bytes of
// memory for each byte of text. So the items of jobs are parsed in pieces, if jobs is at the top
// level and in block style (docs/adr/0056).
const pieceBytes = 64 << 10

// mostPieceBytes bounds a piece, and so the memory of its tree. A file with jobs in brackets, each
// job, and all that stands before or after the jobs, are in one piece.
const mostPieceBytes = 4 << 20

// mostDepth bounds the levels of brackets in brackets, and those of indentation. The parser calls
// itself for each of them, and a full stack ends the process.
const mostDepth = 50

// jobsLine is the line that stands before the items of a piece that is not the first.
const jobsLine = "jobs:\n"

// piece is a part of a file. Its first line is line skip + 1 of the file.
type piece struct {
	text string
	skip int
}

// cut divides a file into pieces of at least the given number of bytes, except the last one. All but
// the first begin with an item of jobs, and are valid YAML behind jobsLine. The last one also has
// what stands after the jobs. Indentation makes the cuts safe: everything inside an item is indented
// deeper than the item's dash.
func cut(text string, least int) []piece {
	pieces := []piece{{text, 0}}
	indent, inJobs := -1, false // the indentation of the items; -1: there was none yet
	start, at, number := 0, 0, 0
	for line := range strings.Lines(text) {
		word := strings.TrimLeft(line, " ")
		spaces := len(line) - len(word)
		dash := len(word) > 1 && word[0] == '-' && word[1] <= ' ' // any other dash begins a word
		switch {
		case insignificant(line): // it may have any indentation
		case !inJobs:
			after, ok := strings.CutPrefix(line, "jobs:")
			inJobs = ok && insignificant(after)
		case indent < 0 && !dash, spaces == 0 && !(dash && indent <= 0):
			return pieces // jobs has no items, or ends here
		case indent < 0:
			indent = spaces
		case spaces == indent && dash && at-start >= least:
			pieces[len(pieces)-1].text = text[start:at]
			pieces = append(pieces, piece{text[at:], number})
			start = at
		}
		at += len(line)
		number++
	}
	return pieces
}

// insignificant reports whether a line is blank or only a comment.
func insignificant(line string) bool {
	line = strings.TrimLeft(line, " \t\r\n")
	return line == "" || line[0] == '#'
}

// anchors has the anchored nodes of all pieces by name. A later anchor of the same name replaces
// an earlier one, as the YAML specification demands. The loader calls its methods.
type anchors map[string]*yaml.Node

func (a anchors) NewAliasDataContext(yaml.AliasDataServices) (yaml.AliasDataContext, error) {
	return a, nil
}
func (a anchors) BeginDocument() error { return nil }
func (a anchors) EndDocument() error   { return nil }

func (a anchors) DefineAnchor(name string, n *yaml.Node) error {
	a[name] = n
	return nil
}

func (a anchors) ResolveAlias(name string) (n *yaml.Node, found bool, err error) {
	if n, found = a[name]; !found {
		err = fmt.Errorf("there is no anchor %s before this", errs.Quote(name))
	}
	return n, found, err
}

// parse parses a text, and adds skip to the number of each line. It returns nil after an error, and
// if the text has nothing but comments.
func (d *decoder) parse(text string, skip int) *yaml.Node {
	if len(text) > mostPieceBytes {
		d.failAt(Pos{skip + 1, 1}, "", "more than %d MiB in one piece; only the items of jobs, each after a dash, may have more together", mostPieceBytes>>20)
		return nil
	}
	var doc, second yaml.Node
	loader, err := yaml.NewLoader(strings.NewReader(text), yaml.WithPlugin(d.anchors, loaderlimits.New(loaderlimits.DepthValue(mostDepth))))
	if err == nil {
		err = loader.Load(&doc)
	}
	if err == nil {
		err = loader.Load(&second)
	}
	switch e := (*yaml.LoadError)(nil); {
	case errors.As(err, &e):
		// Where the text ends too early, the place is that of what has no end.
		last := 1 + strings.Count(strings.TrimSuffix(text, "\n"), "\n")
		at, what := e.Mark, "not YAML: "
		if at.Line > last {
			at = e.ContextMark
		}
		if e.Stage == yaml.ComposerStage { // an error of anchors
			what = ""
		}
		d.failAt(Pos{skip + max(1, min(at.Line, last)), max(1, at.Column)}, "", "%s%s", what, e.Message)
	case err == nil:
		d.failAt(Pos{skip + second.Line, second.Column}, "", "a second document; a workload file has only one")
	case !errors.Is(err, io.EOF):
		d.failAt(Pos{skip + 1, 1}, "", "not YAML: %v", err)
	case len(doc.Content) > 0:
		down(doc.Content[0], skip)
		return doc.Content[0]
	}
	return nil
}

// down moves the places of n and of all nodes in it down by a number of lines.
func down(n *yaml.Node, lines int) {
	n.Line += lines
	for _, inner := range n.Content {
		down(inner, lines)
	}
}

// placeOf returns where a node begins. A mapping in block style begins at its first key.
func placeOf(n *yaml.Node) Pos { return Pos{n.Line, n.Column} }
