package workload

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
	"mrlocal/internal/scan"
	"mrlocal/internal/setting"
	"mrlocal/internal/stats"
	"mrlocal/slots/setup"
)

// decoder turns a YAML tree into a File. It keeps its first error and reads nothing after it.
type decoder struct {
	file    *File // what is read so far; incomplete if err is set
	err     error
	anchors anchors
	steps   int64  // how many nodes resolve may still visit
	places  places // for check, which runs after all sections
	// jobFields is made once for each file, because a file may have 100,000 jobs. The fields
	// read into job and jobPlaces.
	jobFields []field
	job       *ListedJob
	jobPlaces *jobPlaces

	changes []change
	at      []element // the path to the node that is read; empty if there are no changes
	from    int       // the index that the first item of the next list has in the file
}

// mostSteps bounds the nodes that a short file can stand for by its aliases.
// newDecoder adds a step for each byte, so that a long file without aliases is never
// refused.
const mostSteps = 5_000_000

// Parse reads and checks the text of a workload file. name stands in messages. An error
// is of kind errs.BadInput and has one line: name:line:column: cause. The File does not
// share memory with text.
func Parse(name string, text []byte) (*File, error) { return parse(name, string(text), pieceBytes) }

// parse is Parse with jobs in pieces of at least the given number of bytes. Tests check that
// the pieces do not change what a file means.
func parse(name, text string, bytes int) (*File, error) {
	return newDecoder(name, len(text)).read(text, bytes)
}

// newDecoder returns a decoder for a file of that many bytes.
func newDecoder(name string, bytes int) *decoder {
	return &decoder{file: &File{Name: name, keys: map[string]keyAt{}}, anchors: anchors{}, steps: mostSteps + int64(bytes)}
}

// read reads and checks the text, with jobs in pieces of at least the given number of bytes.
func (d *decoder) read(text string, bytes int) (*File, error) {
	// A byte order mark would hide the first key from cut.
	text = strings.TrimPrefix(text, scan.ByteOrderMark)
	// The loader accepts no other directive than %YAML 1.1. A workload means the same in both versions.
	if after, ok := strings.CutPrefix(text, "%YAML 1.2"); ok {
		text = "%YAML 1.1" + after
	}
	switch at, what := forbidden(text); {
	case len(text) > mostFileBytes:
		d.failAt(Pos{1, 1}, "", "longer than %d MiB", mostFileBytes>>20)
	case at >= 0:
		// Columns count characters, as an editor shows them.
		before := text[:at]
		line := strings.Count(before, "\n")
		d.failAt(Pos{line + 1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1}, "", "%s", what)
	default:
		d.workload(cut(text, bytes))
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

// forbidden returns the offset of the first character that the loader refuses without its place, and
// what it is; -1: there is none.
func forbidden(text string) (at int, what string) {
	for i, r := range text {
		switch {
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == '\ufffe', r == '\uffff':
			return i, "a control character"
		// A valid text may contain U+FFFD, which then has three bytes.
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd"):
			return i, "not UTF-8 text"
		}
	}
	return -1, ""
}

// failAt keeps an error at a place of the file, unless the decoder has one already: later
// errors often follow from the first. An error inside the value of a change names the change
// instead of the place.
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
func (d *decoder) fail(n *yaml.Node, object, format string, args ...any) {
	d.failAt(placeOf(n), object, format, args...)
}

// resolve returns the node that n stands for: the node of its anchor if n is an alias. After an
// error it returns a node of no kind.
func (d *decoder) resolve(n *yaml.Node) *yaml.Node {
	if d.steps--; d.steps < 0 {
		d.fail(n, "", "aliases stand for too many values")
		return &yaml.Node{}
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Style&yaml.TaggedStyle != 0 {
		d.fail(n, "", "a tag; a workload file has none")
		return &yaml.Node{}
	}
	return n
}

// field is a key of a mapping. set reads the value of the key.
type field struct {
	key string
	set setter
}

// setter reads the value v of a key, and stores it. key stands in messages.
type setter func(v *yaml.Node, key string)

// into returns a setter that stores the result of read in to.
func into[T any](to *T, read func(v *yaml.Node, key string) T) setter {
	return func(v *yaml.Node, key string) { *to = read(v, key) }
}

// items returns a setter for a list, which calls read for each item.
func (d *decoder) items(read func(item *yaml.Node)) setter {
	return func(v *yaml.Node, key string) { d.list(v, key, read) }
}

// appended returns a setter for a list, which appends the result of read for each item to to.
func appended[T any](d *decoder, to *[]T, read func(item *yaml.Node) T) setter {
	return d.items(func(item *yaml.Node) { *to = append(*to, read(item)) })
}

// at returns a setter that calls set and stores the place of the value in place.
func at(place *Pos, set setter) setter {
	return func(v *yaml.Node, key string) {
		set(v, key)
		*place = placeOf(v)
	}
}

// mapping reads the mapping n in the order of the file. Each key must be one of fields, of
// which there are at most 64, and may come only once. Mappings that << merges in are read
// after the keys of n itself. A key that n has already is ignored there. what names the
// mapping in messages.
func (d *decoder) mapping(n *yaml.Node, what string, fields []field) {
	var done uint64
	d.entries(n, what, fields, &done, 0)
}

// entries reads the mapping n and the mappings that it merges in. Bit i of done is set once
// fields[i] is read. entries skips such a field, because the outer mapping wins. depth counts
// the merges around n.
func (d *decoder) entries(n *yaml.Node, what string, fields []field, done *uint64, depth int) {
	if depth > 20 {
		d.fail(n, what, "<< is nested too deeply")
	}
	entries := d.entriesOf(n, what)
	d.seen(func() string { return "there are " + strings.Join(keysOf(fields), ", ") })
	// A key that is repeated in this mapping is an error. A key that an outer mapping has too is
	// skipped. own tells them apart: it has the place of each key of this mapping.
	var own [64]Pos
	var merged []*yaml.Node
	for k, v := range entries {
		if isMerge(k) {
			merged = append(merged, v)
			continue
		}
		key := d.word(k, what)
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
		switch {
		case d.err != nil:
			return
		case i < 0:
			d.fail(k, what, "unknown key %s%s", errs.Quote(key), errs.Suggest(key, keysOf(fields)))
		case own[i].Line > 0:
			d.fail(k, what, "%s is given twice, first %s", key, own[i].line())
		case *done>>i&1 == 0:
			d.under(element{key, -1}, v, func(v *yaml.Node) { fields[i].set(v, key) })
		}
		if d.err == nil {
			own[i] = placeOf(k)
			*done |= 1 << i
		}
	}
	// If several merged mappings have a key, the first one wins, as in the YAML specification.
	for _, n := range merged {
		sources := []*yaml.Node{n}
		if list := d.resolve(n); list.Kind == yaml.SequenceNode {
			sources = list.Content
		}
		for _, n := range sources {
			d.entries(n, what, fields, done, depth+1)
		}
	}
	if d.err == nil && depth == 0 {
		d.add(fields, done)
	}
}

// entriesOf returns an iterator over the keys and values of the mapping n, until the first error. It
// fails if n is not a mapping. what names the mapping in messages.
func (d *decoder) entriesOf(n *yaml.Node, what string) iter.Seq2[*yaml.Node, *yaml.Node] {
	m := d.resolve(n)
	if m.Kind != yaml.MappingNode {
		d.fail(n, what, "keys and values are expected here")
	}
	return func(yield func(k, v *yaml.Node) bool) {
		// The list may grow during the iteration: see workload.
		for i := 0; d.err == nil && i < len(m.Content) && yield(m.Content[i], m.Content[i+1]); i += 2 {
		}
	}
}

// isMerge reports whether a key is <<, which merges other mappings in.
func isMerge(key *yaml.Node) bool { return key.Tag == "!!merge" }

// keysOf returns the keys of fields.
func keysOf(fields []field) (keys []string) {
	for _, f := range fields {
		keys = append(keys, f.key)
	}
	return keys
}

// list calls each for every item of the list n, until the first error. It fails if n is not a
// list.
func (d *decoder) list(n *yaml.Node, what string, each func(item *yaml.Node)) {
	list := d.resolve(n)
	if list.Kind != yaml.SequenceNode {
		d.fail(n, what, "a list is expected here")
		return
	}
	// d.from is for this list only, not for the lists inside its items.
	from := d.from
	d.from = 0
	d.seen(func() string { return d.itemsIn(list.Content, from) })
	for i, item := range list.Content {
		if d.err != nil {
			return
		}
		d.item(from+i, item, each)
	}
}

// scalar returns the text of a single value. ok is false if n is not one. Numbers and
// booleans keep the text of the file, because the key decides the type: 1.0 may be a name.
func (d *decoder) scalar(n *yaml.Node) (text string, ok bool) {
	v := d.resolve(n)
	return v.Value, v.Kind == yaml.ScalarNode && v.Tag != "!!null"
}

// word returns the text of a single value. The text must not be empty. Every character must be
// printable, because messages and reports show words on a terminal.
func (d *decoder) word(n *yaml.Node, what string) string {
	text, ok := d.scalar(n)
	switch {
	case !ok:
		d.fail(n, what, "a single value is expected here")
	case text == "":
		d.fail(n, what, "is empty")
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		d.fail(n, what, "%s: characters that cannot be printed", errs.Quote(text))
	}
	return text
}

// name returns a word that names something, of at most 200 bytes.
func (d *decoder) name(n *yaml.Node, what string) string {
	const most = 200 // longer names would make tables unreadable
	text := d.word(n, what)
	if len(text) > most {
		d.fail(n, what, "%s is too long a name; at most %d bytes", errs.Quote(text), most)
	}
	return text
}

// set returns a setter that gives the word to v.
func (d *decoder) set(v setting.Value) setter {
	return func(n *yaml.Node, key string) {
		text := d.word(n, key)
		if d.err != nil {
			return
		}
		if err := v.Set(text); err != nil {
			d.fail(n, key, "%w", err)
		}
	}
}

// The next methods read a value of one type each. After an error the result has no meaning.

func (d *decoder) time(n *yaml.Node, what string) (t time.Duration) {
	d.set(duration(&t))(n, what)
	return t
}

func (d *decoder) share(n *yaml.Node, what string) (p ppm.Share) {
	d.set(number(&p, 0))(n, what)
	return p
}

// sigma reads the sigma of a lognormal distribution: the standard deviation of the
// logarithm of a time. It is a number without a unit.
func (d *decoder) sigma(n *yaml.Node, what string) float64 {
	var p ppm.Share
	d.set(setting.Factor(&p, 0, 5*ppm.One))(n, what) // a task in a thousand takes e^15 times as long
	return float64(p) / float64(ppm.One)
}

// duration returns the value of a time with its unit, of at most setup.MostTime.
func duration(p *time.Duration) setting.Value {
	return setting.Func(func(text string) error {
		err := setting.Time(p, 0).Set(text)
		if err == nil && *p > setup.MostTime {
			err = fmt.Errorf("%s: too large; at most %v", errs.Quote(text), setup.MostTime)
		}
		return err
	})
}

// count returns the value of a whole number, at least least.
func count[T int | int32](p *T, least T) setting.Value { return setting.Count(p, least, mostCount) }

// number returns the value of a decimal number such as 0.25, of at most 1,000,000.
func number(p *ppm.Share, least ppm.Share) setting.Value {
	return setting.Factor(p, least, 1_000_000*ppm.One)
}

// size returns the value of a size in bytes: 4096, 64MiB, 100MB (decimal), 1.5G (binary).
func size(p *int64, least int64) setting.Value { return setting.Size(p, least, math.MaxInt64) }

// yes reads a value that must be true. It refuses false, so that a file has only one way to
// say no: to leave out the key.
func (d *decoder) yes(n *yaml.Node, what string) bool {
	if text := d.word(n, what); text != "true" {
		d.fail(n, what, "%s is not true; leave it out instead", errs.Quote(text))
	}
	return true
}

// mostCount bounds every count, because ids of tasks and trackers have 32 bits.
const mostCount = math.MaxInt32

// Times gives the durations of a job's tasks of one kind. The zero value gives none.
type Times struct {
	law   law
	a, b  time.Duration   // constant: a; uniform: from a to b; lognormal: a is the median
	sigma float64         // of lognormal
	list  []time.Duration // of listed and quantiles; not empty
}

// law is the distribution that times are drawn from.
type law uint8

// absent must be the zero value, so that a zero Times has no times.
const (
	absent law = iota
	constant
	uniform
	lognormal
	listed    // task i takes list[i], and the list repeats
	quantiles // list has evenly spaced quantiles, from the least time to the longest
)

// Constant returns Times that are all d.
func Constant(d time.Duration) Times { return Times{law: constant, a: d} }

// Given reports whether times are given.
func (t Times) Given() bool { return t.law != absent }

// Scaled returns a copy of t in which every duration is multiplied by by, a number of at
// least 0. A duration stays at most 100,000 hours.
func (t Times) Scaled(by float64) Times {
	scale := func(d time.Duration) time.Duration { return time.Duration(min(float64(d)*by, float64(setup.MostTime))) }
	t.a, t.b, t.list = scale(t.a), scale(t.b), slices.Clone(t.list)
	for i := range t.list {
		t.list[i] = scale(t.list[i])
	}
	return t
}

// At returns how long a task takes. job is the index of the job, and task the index of the
// task among those of its kind. At is a pure function: a drawn time is a hash of the
// arguments. So it depends neither on other draws nor on the processor. The zero Times
// return 0.
func (t Times) At(seed uint64, job int, reduce bool, task int) time.Duration {
	switch t.law {
	case uniform:
		// The high word of the product is uniform from 0 to b-a.
		span, _ := bits.Mul64(draw(seed, job, reduce, task), uint64(t.b-t.a)+1)
		return t.a + time.Duration(span)
	case lognormal:
		u := stats.Unit(draw(seed, job, reduce, task))
		// Half of all normal numbers are below 0, so the median is a for any sigma.
		f := float64(t.a) * stats.Exp(float64(t.sigma*stats.Normal(u)))
		if f >= float64(setup.MostTime) {
			return setup.MostTime
		}
		return time.Duration(f)
	case listed:
		return t.list[task%len(t.list)]
	case quantiles:
		if len(t.list) == 1 {
			return t.list[0]
		}
		// The high word of the product selects a gap between two neighbouring quantiles. The
		// low word is uniform inside that gap.
		high, low := bits.Mul64(draw(seed, job, reduce, task), uint64(len(t.list)-1))
		step, _ := bits.Mul64(low, uint64(t.list[high+1]-t.list[high]))
		return t.list[high] + time.Duration(step)
	}
	return t.a
}

// draw returns 64 pseudorandom bits for a task: the same bits in every run with that seed.
func draw(seed uint64, job int, reduce bool, task int) uint64 {
	kind := uint64(0)
	if reduce {
		kind = 1
	}
	return stats.Bits(seed, uint64(job), kind, uint64(task))
}
