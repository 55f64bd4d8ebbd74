package workload

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"mrlocal/internal/errs"
)

// Change replaces one value of a workload file, or adds it. Path names the value: keys of
// mappings, and names or indexes of the items of lists, with dots between them, as in
// pools.adhoc.weight or jobs.0.map_time. * stands for all items. An item with a dot in its
// name can only be reached by its index. Value is YAML on one line, as the file would have it.
type Change struct{ Path, Value string }

// change is a Change while a file is read.
type change struct {
	Change
	path []string // the words of Path
	used bool     // the decoder has read Value
	near int      // how many of the first words of path the file has; -1: not one is looked up
	what string   // says which words the file has after those, for the message
}

// element is one step of a path: a key of a mapping, or an item of a list.
type element struct {
	name  string // the key, or the name of the item; "": the item has none
	index int    // the index of the item; -1: a key
}

// matches reports whether a word of a change's path names the element.
func (e element) matches(word string) bool {
	return word == e.name && word != "" || e.index >= 0 && (word == "*" || word == strconv.Itoa(e.index))
}

// changedLine is the line number that the value of the first change gets. The next value gets
// the next number. No file has that many lines, so failAt recognises a value by its line.
const changedLine = 1 << 30

// line says on which line a place is, for messages.
func (p Pos) line() string {
	if p.Line >= changedLine {
		return "in a change"
	}
	return fmt.Sprintf("on line %d", p.Line)
}

// ParseChanged reads a workload file as Parse does, and makes the changes before it checks
// anything. It fails as Parse does, and the error lists the changes. An error about a change itself
// is of kind errs.BadOptions, and names only that change. If a path does not fit the file, the error
// also lists the names that are there.
func ParseChanged(name string, text []byte, changes []Change) (*File, error) {
	d := newDecoder(name, len(text))
	for _, c := range changes {
		path := strings.Split(c.Path, ".")
		if strings.ContainsAny(c.Value, "\n\r") || slices.Contains(path, "") {
			return nil, errs.Optionf(c.Path+"="+c.Value, "not PATH=VALUE on one line")
		}
		d.changes = append(d.changes, change{Change: c, path: path, near: -1})
	}
	f, err := d.read(string(text), pieceBytes)
	// A change may make another place of the file wrong. The user has to see the change then.
	if e, ok := errors.AsType[*errs.Error](err); ok && e.Kind == errs.BadInput && len(changes) > 0 {
		var all []string
		for _, c := range changes {
			all = append(all, c.Path+"="+c.Value)
		}
		said := *e
		said.Cause = fmt.Errorf("%w; the file was changed by %s", e.Cause, strings.Join(all, ", "))
		err = &said
	}
	return f, err
}

// Changed reads the text of f again with changes, as ParseChanged does, and returns the new File.
// f must have Experiments: other Files do not keep their text. f itself does not change.
func (f *File) Changed(changes []Change) (*File, error) {
	return ParseChanged(f.Name, []byte(f.text), changes)
}

// node parses the value of change i, inside of a mapping for each of keys, the outermost
// first. It returns nil after an error.
func (d *decoder) node(i int, keys []string) *yaml.Node {
	text := d.changes[i].Value
	for _, key := range slices.Backward(keys) {
		text = "{" + strconv.Quote(key) + ": " + text + "}"
	}
	return d.parse(text, changedLine+i-1)
}

// under calls f with the node of the element e: n, or the value of a change of that path.
// During the call d.at ends with e.
func (d *decoder) under(e element, n *yaml.Node, f func(n *yaml.Node)) {
	if len(d.changes) == 0 {
		f(n)
		return
	}
	d.at = append(d.at, e)
	for i := range d.changes {
		if c := &d.changes[i]; len(c.path) == len(d.at) && d.isAt(c) {
			if v := d.node(i, nil); v != nil {
				n, c.used = v, true
			}
		}
	}
	f(n)
	d.at = d.at[:len(d.at)-1]
}

// isAt reports whether the path of c begins with d.at.
func (d *decoder) isAt(c *change) bool {
	if len(c.path) < len(d.at) {
		return false
	}
	for i, e := range d.at {
		if !e.matches(c.path[i]) {
			return false
		}
	}
	return true
}

// seen keeps, for each change whose path begins with d.at, which words may come next, as what says it.
// unused needs that for its message.
func (d *decoder) seen(what func() string) {
	for i := range d.changes {
		if c := &d.changes[i]; len(c.path) > len(d.at) && len(d.at) > c.near && d.isAt(c) {
			c.near, c.what = len(d.at), what()
		}
	}
}

// add sets the fields that a change names and the mapping at d.at lacks. done is as in
// entries. * stands only for items that the file has, so add does not make any.
func (d *decoder) add(fields []field, done *uint64) {
	for i := range d.changes {
		c := &d.changes[i]
		if len(c.path) <= len(d.at) || !d.isAt(c) {
			continue
		}
		key, rest := c.path[len(d.at)], c.path[len(d.at)+1:]
		f := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
		if f < 0 || *done>>f&1 == 1 || slices.Contains(rest, "*") {
			continue
		}
		if n := d.node(i, rest); n != nil && d.err == nil {
			c.used = true
			*done |= 1 << f
			d.at = append(d.at, element{key, -1})
			fields[f].set(n, key)
			d.at = d.at[:len(d.at)-1]
		}
	}
}

// item calls each with the node of item i of a list: n, or the value of a change.
func (d *decoder) item(i int, n *yaml.Node, each func(n *yaml.Node)) {
	if len(d.changes) == 0 {
		each(n)
		return
	}
	d.under(element{d.nameOf(n), i}, n, each)
}

// nameOf returns the value of the key name in an item of a list; "": it has none.
func (d *decoder) nameOf(n *yaml.Node) (name string) {
	m := d.resolve(n)
	for i := 0; m.Kind == yaml.MappingNode && i < len(m.Content); i += 2 {
		if key, ok := d.scalar(m.Content[i]); ok && key == "name" {
			name, _ = d.scalar(m.Content[i+1])
		}
	}
	return name
}

// itemsIn says how many items a list has, or the names of the first 12 where some have names. from is
// the index of the first item.
func (d *decoder) itemsIn(list []*yaml.Node, from int) string {
	const most = 12
	if !slices.ContainsFunc(list, func(n *yaml.Node) bool { return d.nameOf(n) != "" }) {
		return fmt.Sprintf("it has %d, counted from 0", len(list))
	}
	var names []string
	for i, n := range list[:min(len(list), most)] {
		names = append(names, errs.Quote(cmp.Or(d.nameOf(n), strconv.Itoa(from+i))))
	}
	if len(list) > most {
		names = append(names, "…")
	}
	return "there are " + strings.Join(names, ", ") + ", with indexes from 0"
}

// unused fails if a change has changed nothing. The message says which word of its path the
// file lacks.
func (d *decoder) unused() {
	for i := range d.changes {
		c := &d.changes[i]
		if c.used || d.err != nil {
			continue
		}
		word, behind := c.path[max(c.near, 0)], ""
		if c.near > 0 {
			behind = " in " + strings.Join(c.path[:c.near], ".")
		}
		d.err = errs.Optionf(c.Path+"="+c.Value, "no %s%s; %s", errs.Quote(word), behind, c.what)
	}
}

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
