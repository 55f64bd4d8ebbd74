package workload

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"mrlocal/errs"
	"mrlocal/internal/ppm"
)

// decoder turns a YAML tree into a File. It keeps its first error, and does nothing
// from then on.
type decoder struct {
	// What was read so far. Parse returns it only if there is no error.
	file *File
	err  error
	// By name. A later anchor of the same name replaces an earlier one, as YAML says.
	anchors map[string]ast.Node
	steps   int64 // nodes that it may still look at
	// For check, which runs after all sections.
	places places
	// The table of a job is made once for each file: files may have 100,000 jobs.
	jobFields []field
	job       *ListedJob // that jobFields read into
	jobPlaces *jobPlaces

	changes []change
	at      []element // where it reads; kept only if there are changes
	from    int       // index of the first item of the next list
}

// mostSteps bounds how many nodes aliases can make of a short file.
// Parse adds one step for each byte, so that a long file without aliases is never
// refused.
const mostSteps = 5_000_000

// Parse reads and checks the text of a workload file. name is for messages. An error
// is of kind errs.BadInput and one line: name:line:column: what.
func Parse(name string, text []byte) (*File, error) { return parse(name, string(text), partBytes) }

// parse is Parse with jobs in parts of at least that many bytes. The parts do not change
// what a file means, which the tests check.
// The limits are checked in the order of their cost, and all before the YAML parser
// sees the text.
func parse(name, text string, bytes int) (*File, error) {
	return newDecoder(name, len(text)).read(text, bytes)
}

func newDecoder(name string, bytes int) *decoder {
	return &decoder{file: &File{Name: name}, anchors: map[string]ast.Node{}, steps: mostSteps + int64(bytes)}
}

// read reads and checks the text.
func (d *decoder) read(text string, bytes int) (*File, error) {
	// A byte order mark would become part of the first key.
	text = strings.TrimPrefix(text, "\ufeff")
	blank := emptyLines(text)
	switch at := invalidUTF8(text); {
	case len(text) > mostFileBytes:
		d.failAt(Pos{1, 1}, "", "longer than %d MiB", mostFileBytes>>20)
	case blank > 0:
		d.failAt(Pos{blank, 1}, "", "more than %d empty lines in a row", mostEmptyLines)
	case at >= 0:
		// Columns count characters, as an editor shows them.
		before := text[:at]
		line := strings.Count(before, "\n")
		d.failAt(Pos{line + 1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1}, "", "not UTF-8 text")
	default:
		rest, items := split(text, bytes)
		d.workload(d.parse(rest), items)
	}
	if d.err == nil {
		d.unused()
	}
	if d.err == nil {
		d.check()
	}
	if d.err != nil {
		return nil, d.err
	}
	if len(d.file.Experiments) > 0 {
		d.file.text = text
	}
	return d.file, nil
}

// mostEmptyLines bounds a run of empty lines: the time of the YAML parser grows with
// its square.
const mostEmptyLines = 1000

// emptyLines returns the number of the line at which a run of empty lines is too long;
// 0 if there is none.
// A line of nothing but white space counts as empty.
func emptyLines(text string) int {
	line, run := 0, 0
	for at, end := 0, 0; at < len(text); at = end {
		end = lineEnd(text, at)
		line++
		if run++; strings.TrimSpace(text[at:end]) != "" {
			run = 0
		}
		if run > mostEmptyLines {
			return line
		}
	}
	return 0
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8; -1 if there is
// none.
func invalidUTF8(text string) int {
	if utf8.ValidString(text) {
		return -1
	}
	for i, r := range text {
		// U+FFFD may be in the text itself. Then it has three bytes.
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return i
			}
		}
	}
	return -1
}

// failAt keeps an error at a place of the file, unless there is one already.
// Later errors often follow from the first one, so only that one is reported.
func (d *decoder) failAt(p Pos, object, format string, args ...any) {
	switch {
	case d.err != nil:
	case p.Line >= changedLine && p.Line-changedLine < len(d.changes):
		c := &d.changes[p.Line-changedLine]
		d.err = errs.Optionf(c.Path+"="+c.Value, format, args...)
	default:
		d.err = d.file.Errorf(p, object, format, args...)
	}
}

// fail keeps an error at the place of a node.
func (d *decoder) fail(n ast.Node, object, format string, args ...any) {
	d.failAt(placeOf(n), object, format, args...)
}

// resolve returns the node that n stands for: it follows anchors and aliases.
// It returns nil after an error. An anchor is known from its definition on, so an alias
// before it is refused.
func (d *decoder) resolve(n ast.Node) ast.Node {
	// The hop limit stops anchors on aliases that go on without end.
	for hops := 0; ; hops++ {
		if d.steps--; d.steps < 0 || hops > 100 {
			d.fail(n, "", "anchors and aliases make too much of this file")
			return nil
		}
		switch v := n.(type) {
		case *ast.AnchorNode:
			d.anchors[v.Name.GetToken().Value] = v.Value
			n = v.Value
		case *ast.AliasNode:
			name := v.Value.GetToken().Value
			target, ok := d.anchors[name]
			if !ok {
				d.fail(v, "", "there is no anchor %s before this", quote(name))
				return nil
			}
			n = target
		default:
			return n
		}
	}
}

// field is a key of a mapping. set reads its value; key is for messages.
type field struct {
	key string
	set setter
}

type setter func(v ast.Node, key string)

// into returns a setter that keeps what read returns.
func into[T any](to *T, read func(v ast.Node, key string) T) setter {
	return func(v ast.Node, key string) { *to = read(v, key) }
}

// items returns a setter for a list: it calls read for each item.
func (d *decoder) items(read func(item ast.Node)) setter {
	return func(v ast.Node, key string) { d.list(v, key, read) }
}

// appended is items for a read that returns the item.
func appended[T any](d *decoder, to *[]T, read func(item ast.Node) T) setter {
	return d.items(func(item ast.Node) { *to = append(*to, read(item)) })
}

// at returns set, which also keeps the place of the value.
func at(place *Pos, set setter) setter {
	return func(v ast.Node, key string) {
		set(v, key)
		*place = placeOf(v)
	}
}

// mapping reads the mapping n. A key must be one of fields, which are at most 64, and may
// come only once. Keys that are merged in with << come after the keys of n itself, and
// only if n does not have them.
// what names the mapping in messages. Values are read in the order of the file.
func (d *decoder) mapping(n ast.Node, what string, fields []field) {
	var done uint64
	d.entries(n, what, fields, &done, 0)
}

// entries is mapping for n and what n merges in. done has a bit for each field that is set;
// depth counts the merges around n.
// A key of the inner mapping never replaces one that is set, because merges come last.
func (d *decoder) entries(n ast.Node, what string, fields []field, done *uint64, depth int) {
	m, ok := d.resolve(n).(ast.MapNode)
	switch {
	case !ok:
		d.fail(n, what, "keys and values are expected here")
	case depth > 20:
		d.fail(n, what, "<< in << goes too deep")
	}
	d.seen(func() (keys []string) {
		for _, f := range fields {
			keys = append(keys, f.key)
		}
		return keys
	})
	// It distinguishes a repeated key of this mapping, which is an error, from a merged one, which
	// is ignored.
	var own [64]int // line by key
	var merged []ast.Node
	for it := entriesOf(m); d.err == nil && it.Next(); {
		if it.Key().IsMergeKey() {
			merged = append(merged, it.Value())
			continue
		}
		k := it.Key()
		key := d.word(k, what)
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
		switch {
		case d.err != nil:
			return
		case i < 0:
			d.unknownKey(k, what, key, fields)
		case own[i] > 0:
			d.fail(k, what, "%s is given twice, first on line %d", key, own[i])
		case *done>>i&1 == 0:
			d.under(element{key, -1}, it.Value(), func(v ast.Node) { fields[i].set(v, key) })
		}
		if d.err == nil {
			own[i] = max(1, placeOf(k).Line)
			*done |= 1 << i
		}
	}
	// Of several merged mappings the first that has a key wins, as YAML says.
	for _, n := range merged {
		if list, ok := d.resolve(n).(*ast.SequenceNode); ok {
			for _, n := range list.Values {
				d.entries(n, what, fields, done, depth+1)
			}
		} else {
			d.entries(n, what, fields, done, depth+1)
		}
	}
	if d.err == nil && depth == 0 {
		d.add(fields, done)
	}
}

// entriesOf returns the entries of m; none if m is nil.
// A nil mapping follows an error, which the caller's loop then sees.
func entriesOf(m ast.MapNode) *ast.MapNodeIter {
	if m == nil {
		m = &ast.MappingNode{}
	}
	return m.MapRange()
}

// unknownKey refuses a key that is none of fields, and suggests the nearest one.
func (d *decoder) unknownKey(at ast.Node, what, key string, fields []field) {
	var known []string
	for _, f := range fields {
		known = append(known, f.key)
	}
	d.fail(at, what, "unknown key %s%s", quote(key), didYouMean(key, known))
}

// list calls each for every item of the list n. It is an error if n is no list.
// It stops at the first error.
func (d *decoder) list(n ast.Node, what string, each func(item ast.Node)) {
	list, ok := d.resolve(n).(*ast.SequenceNode)
	if !ok {
		d.fail(n, what, "a list is expected here")
		return
	}
	from := d.from
	d.from = 0
	d.seen(func() []string { return d.namesIn(list.Values, from) })
	for i, item := range list.Values {
		if d.err != nil {
			return
		}
		d.item(from+i, item, each)
	}
}

// scalar returns the text of a single value; false if n is none.
// Numbers and booleans keep the text of the file. Their types are decided by the key,
// so 1.0 may be a name.
func (d *decoder) scalar(n ast.Node) (text string, ok bool) {
	switch v := d.resolve(n).(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		return v.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return v.GetToken().Value, true
	}
	return "", false
}

// word returns the text of a single value, which must be one line and not empty.
// Control characters are refused, because words are printed on terminals.
func (d *decoder) word(n ast.Node, what string) string {
	// An explicit key, written with a question mark, wraps its value.
	if k, ok := n.(*ast.MappingKeyNode); ok {
		n = k.Value
	}
	text, ok := d.scalar(n)
	switch {
	case !ok:
		d.fail(n, what, "a single value is expected here")
	case text == "":
		d.fail(n, what, "is empty")
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		d.fail(n, what, "%s: characters that cannot be printed", quote(text))
	}
	return text
}

// name returns a word that names something.
func (d *decoder) name(n ast.Node, what string) string {
	// The limit keeps tables and messages readable.
	const most = 200
	text := d.word(n, what)
	if len(text) > most {
		d.fail(n, what, "%s is too long a name; at most %d bytes", quote(text), most)
	}
	return text
}

// decode returns a word as parse reads it.
// parse returns a problem for the message, or "". The value means nothing after an
// error.
func decode[T any](d *decoder, n ast.Node, what string, parse func(string) (T, string)) T {
	text := d.word(n, what)
	value, problem := parse(text)
	if d.err == nil && problem != "" {
		d.fail(n, what, "%s", problem)
	}
	return value
}

// These read a value of one type each: a whole number, a time with its unit, a share, a
// size in bytes. After an error the result means nothing.
func (d *decoder) count(n ast.Node, what string) int          { return decode(d, n, what, parseCount) }
func (d *decoder) count32(n ast.Node, what string) int32      { return int32(d.count(n, what)) }
func (d *decoder) time(n ast.Node, what string) time.Duration { return decode(d, n, what, parseTime) }
func (d *decoder) share(n ast.Node, what string) ppm.Share    { return decode(d, n, what, parseShare) }
func (d *decoder) bytes(n ast.Node, what string) int64        { return decode(d, n, what, parseBytes) }

// positive returns read with a check: the value must be above 0.
func positive[T int | int64 | ppm.Share](d *decoder, read func(v ast.Node, key string) T) func(v ast.Node, key string) T {
	return func(v ast.Node, key string) T {
		value := read(v, key)
		if d.err == nil && value <= 0 {
			d.fail(v, key, "must be above 0")
		}
		return value
	}
}

// yes reads a key that is either true or left out.
// false is refused, because a key that is left out says the same in one way only.
func (d *decoder) yes(n ast.Node, what string) bool {
	if text := d.word(n, what); text != "true" {
		d.fail(n, what, "%s is not true; leave it out instead", quote(text))
	}
	return true
}

// choice returns the index of a word among words.
// It is -1 after an error, so callers must not index with it blindly.
func (d *decoder) choice(n ast.Node, what string, words []string) int {
	text := d.word(n, what)
	i := slices.Index(words, text)
	if i < 0 {
		d.fail(n, what, "no such %s as %s%s", what, quote(text), didYouMean(text, words))
	}
	return i
}
