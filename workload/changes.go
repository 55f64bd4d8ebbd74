package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"mrlocal/errs"
)

// Change replaces one value of a workload file, or adds it. Path names the value: keys of
// mappings, and names or indexes of the items of lists, with dots between them, as in
// pools.adhoc.weight or jobs.0.map_time. * stands for all items. A name with a dot in it
// can only be reached by its index. Value is text as the file would have it.
type Change struct{ Path, Value string }

// change is a Change while a file is read.
type change struct {
	Change
	path []string
	used bool
	near int      // words of the path that were found
	what []string // what there is behind them
}

// element is where the decoder is in a mapping or a list.
type element struct {
	name  string // of a key, or of an item that has one
	index int    // of an item; -1: a key
}

func (e element) matches(word string) bool {
	return word == e.name && word != "" || e.index >= 0 && (word == "*" || word == strconv.Itoa(e.index))
}

// changedLine is the line of the first change; the next one has the next line. No file is
// so long, so that a message knows which change it is about.
const changedLine = 1 << 30

// ParseChanged is Parse with changes, which are made before anything is checked. An error
// about a change names it, and is of kind errs.BadOptions. A path of which the file has
// nothing is an error that lists what there is.
func ParseChanged(name string, text []byte, changes []Change) (*File, error) {
	d := newDecoder(name, len(text))
	for _, c := range changes {
		path := strings.Split(c.Path, ".")
		if strings.ContainsAny(c.Value, "\n\r") || slices.Contains(path, "") {
			return nil, errs.Optionf(c.Path+"="+c.Value, "not a path and a value of one line")
		}
		d.changes = append(d.changes, change{Change: c, path: path, near: -1})
	}
	return d.read(string(text), partBytes)
}

// Changed returns a file that has Experiments with changes, as ParseChanged does.
func (f *File) Changed(changes []Change) (*File, error) {
	return ParseChanged(f.Name, []byte(f.text), changes)
}

// node returns the value of change i, inside of mappings with the given keys.
func (d *decoder) node(i int, keys []string) ast.Node {
	text := d.changes[i].Value
	for _, key := range slices.Backward(keys) {
		text = "{" + strconv.Quote(key) + ": " + text + "}"
	}
	return d.parse(part{text: text, skip: changedLine + i - 1})
}

// under calls f with the decoder at an element. f gets the node to read: n, or what a
// change puts in its place.
func (d *decoder) under(e element, n ast.Node, f func(n ast.Node)) {
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

// isAt reports whether the path of c begins with where the decoder is.
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

// seen notes for each change what there is where the decoder is.
func (d *decoder) seen(what func() []string) {
	for i := range d.changes {
		if c := &d.changes[i]; len(c.path) > len(d.at) && len(d.at) > c.near && d.isAt(c) {
			c.near, c.what = len(d.at), what()
		}
	}
}

// add sets keys of a mapping that the file does not have and changes name.
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

// item reads item i of a list.
func (d *decoder) item(i int, n ast.Node, each func(n ast.Node)) {
	if len(d.changes) == 0 {
		each(n)
		return
	}
	d.under(element{d.nameOf(n), i}, n, each)
}

// nameOf returns the name of an item, or "".
func (d *decoder) nameOf(n ast.Node) (name string) {
	m, ok := d.resolve(n).(ast.MapNode)
	if !ok {
		return ""
	}
	for it := entriesOf(m); it.Next(); {
		if key, ok := d.scalar(it.Key()); ok && key == "name" {
			name, _ = d.scalar(it.Value())
		}
	}
	return name
}

// namesIn returns the names or indexes of the first items of a list.
func (d *decoder) namesIn(list []ast.Node, from int) (names []string) {
	const most = 12
	for i, n := range list[:min(len(list), most)] {
		name := d.nameOf(n)
		name = cmp.Or(name, strconv.Itoa(from+i))
		names = append(names, plain(name))
	}
	if len(list) > most {
		names = append(names, "…")
	}
	return names
}

// unused refuses a change that has changed nothing.
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
		cause := fmt.Sprintf("no %s%s", quote(word), behind)
		if len(c.what) > 0 {
			cause += "; there are " + strings.Join(c.what, ", ")
		}
		d.err = errs.Optionf(c.Path+"="+c.Value, "%s", cause)
	}
}
