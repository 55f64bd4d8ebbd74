package workload

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"mrlocal/internal/errs"
)

// Edit returns the text of a workload file with another value at a place, and leaves all other text as it is. path
// has the keys of mappings; after "pools" comes the name of a pool. Edit adds missing keys, and writes them like the
// lines around them. value is a number. Edit fails with errs.BadOptions if the text is not a mapping, or has something
// else than a plain value there.
func Edit(text string, path []string, value string) (string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode || doc.Content[0].Style&yaml.FlowStyle != 0 {
		return "", errs.Optionf(strings.Join(path, "."), "the text has no sections; correct the text first")
	}
	e := editor{text, strings.SplitAfter(text, "\n")}
	at := doc.Content[0]
	if len(path) < 2 || (path[0] == "pools") != (len(path) == 3) {
		return "", errs.Optionf(strings.Join(path, "."), "no number can stand here")
	}
	for i, key := range path {
		next, want := e.child(at, key), yaml.MappingNode
		if i == 1 && len(path) == 3 {
			want = yaml.SequenceNode // the list of pools
		}
		switch {
		case next != nil:
		case at.Kind == want:
			element := written(path[i+1:], key, at.Kind, value)
			if i == 0 && key == "pools" {
				element = strings.TrimSuffix(element, "]") + e.otherPools(doc.Content[0], path[1]) + "]"
			}
			return e.insert(at, element), nil
		default:
			return "", errs.Optionf(strings.Join(path[:i], "."), "the text has something else there; change the text")
		}
		at = next
	}
	if at.Kind != yaml.ScalarNode || at.Style != 0 || at.Anchor != "" {
		return "", errs.Optionf(strings.Join(path, "."), "the text has no plain number there; change the text")
	}
	from := e.offset(at.Line, at.Column)
	return text[:from] + value + text[from+len(at.Value):], nil
}

// editor has a text and its lines, each with its line feed.
type editor struct {
	text  string
	lines []string
}

// offset returns the offset of a line and column, both from 1. Columns count characters.
func (e *editor) offset(line, column int) int {
	at := 0
	for _, l := range e.lines[:line-1] {
		at += len(l)
	}
	for range column - 1 {
		_, width := utf8.DecodeRuneInString(e.text[at:])
		at += width
	}
	return at
}

// child returns the value of a key of a mapping, or the item of a list with that name; nil: there is none.
func (e *editor) child(n *yaml.Node, key string) *yaml.Node {
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			if name := e.child(item, "name"); name != nil && name.Value == key {
				return item
			}
		}
		return nil
	}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// otherPools returns the items of a new list of pools for those that jobs name: a file with a list must list all.
func (e *editor) otherPools(root *yaml.Node, pool string) (items string) {
	seen := map[string]bool{pool: true}
	jobs := e.child(root, "jobs")
	for i := 0; jobs != nil && i < len(jobs.Content); i++ {
		if n := e.child(jobs.Content[i], "pool"); n != nil && !seen[n.Value] {
			seen[n.Value] = true
			items += ", {name: " + plainJSON(n.Value) + "}"
		}
	}
	return items
}

// plainJSON returns a name as JSON, which is YAML.
func plainJSON(name string) string {
	text, _ := json.Marshal(name) // never fails
	return string(text)
}

// written returns the new element for key in a mapping or list: key with a value, around it the mappings of the keys
// below.
func written(below []string, key string, in yaml.Kind, value string) string {
	if in == yaml.SequenceNode {
		return "{name: " + plainJSON(key) + ", " + written(below[1:], below[0], yaml.MappingNode, value) + "}"
	}
	switch {
	case len(below) == 0:
		return key + ": " + value
	case key == "pools":
		return key + ": [" + written(below[1:], below[0], yaml.SequenceNode, value) + "]"
	}
	return key + ": {" + written(below[1:], below[0], yaml.MappingNode, value) + "}"
}

// insert returns the text with a new first element in a mapping or list.
func (e *editor) insert(in *yaml.Node, element string) string {
	if in.Style&yaml.FlowStyle != 0 || len(in.Content) == 0 {
		at := e.offset(in.Line, in.Column) + 1 // behind the bracket
		if len(in.Content) > 0 {
			element += ", "
		}
		return e.text[:at] + element + e.text[at:]
	}
	head := in.Content[0]
	column := head.Column
	if in.Kind == yaml.SequenceNode {
		column, element = in.Column, "- "+element
	}
	at := e.offset(head.Line, column)
	return e.text[:at] + element + "\n" + strings.Repeat(" ", column-1) + e.text[at:]
}
