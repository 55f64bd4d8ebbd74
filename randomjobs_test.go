package mrlocal_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"mrlocal"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
)

var (
	draws = flag.Int("draws", 15, "random jobs of TestARandomJobHasOneResultInEachWay")
	draw  = flag.Uint64("draw", 0, "only the random job with this number, from 1")
)

// drawn is a random job. A failure prints its fields.
type drawn struct {
	Emits          string // emit, spans or take; raw: a job without reducers writes text
	Fan            int    // the mapper emits each record so often
	Holds          bool   // the mapper emits at its flush
	Last, Input    bool   // it emits at the end of each file; the number of the input is in its keys
	NoInput        bool
	Delim          jobs.Delim
	Fixed          int // bytes of a record; 0: it ends with Delim
	Begin          bool
	MapOnly        bool
	Limit          int64  // of a releaser; 0: there is none
	Folds          string // sum, own sum, most, combiner or late combiner; "": nothing folds
	Breaks         bool   // the combiner breaks the rule for its keys
	Ordered, Group bool
	Parts          bool // the job has a Partition
	Reducer        string
	Flushes        bool // the reducer emits at its flush
	Named, Bare    bool
	Before, After  string // another job: rounds; sorts, pairs or rereads
	Reduces        int
	Policy         string

	faulty bool // the first attempts of some tasks fail: errors and panics
	counts counts
}

// counts are of user code with Begin and Close: how much was made, begun and closed.
type counts struct{ made, begun, closed atomic.Int64 }

func (d *drawn) sums() bool { return d.Folds != "" && d.Folds != "most" }

// notStreamed returns what the job can do on a cluster: "", or words of the refusal.
func (d *drawn) notStreamed() string {
	switch {
	case d.Delim != jobs.Newline || d.Fixed > 0:
		return newlines
	case d.Before != "":
		return "it has several Rounds"
	case d.Bare:
		return "its output is binary (Bare)"
	case d.NoInput:
		return "it reads no input"
	case d.Named:
		return "it has named outputs (odd)"
	case d.Last:
		return "it needs the index or the end of a file (ByFile)"
	case d.After == "pairs":
		return "it reads the pairs of the job before"
	case d.After == "rereads":
		return "it reads the input of the chain again (Rereads)"
	}
	return ""
}

// drawJob draws a job whose abilities go together.
func drawJob(rng *rand.Rand) *drawn {
	maybe := func(in int) bool { return rng.IntN(in) == 0 }
	of := func(all ...string) string { return all[rng.IntN(len(all))] }
	d := &drawn{Emits: of("emit", "emit", "spans", "take"), Fan: rng.IntN(3), Holds: maybe(3), Last: maybe(5), Input: maybe(3), NoInput: maybe(12), Begin: maybe(5), MapOnly: maybe(5), Bare: maybe(6), Named: maybe(6), Ordered: maybe(3), Group: maybe(4), Parts: maybe(4), Flushes: maybe(3), Reduces: 1 + rng.IntN(3), faulty: maybe(3)}
	if d.Policy = of(registry.Names()...); maybe(6) {
		d.Delim = jobs.NUL
	} else if maybe(8) {
		d.Fixed = 3
	}
	d.Folds = of("", "", "sum", "own sum", "most", "combiner", "late combiner")
	d.Breaks = maybe(5)
	if d.Emits == "take" { // records are values
		d.Folds, d.Fan, d.Holds, d.Input, d.Last = of("", "most"), 1, false, false, false
	}
	if d.Emits == "spans" { // keys lie in the block
		d.Fan, d.Holds, d.Input, d.Last, d.Group = 1, false, false, false, false
	}
	if d.NoInput {
		d.Emits, d.Input, d.Last = "emit", false, false
	}
	d.Reducer = of("list", "record", "identity 0", "identity 1", "identity 2", "identity 3", "identity 4", "identity 5")
	if d.Breaks = d.Breaks && strings.HasSuffix(d.Folds, "combiner") && !d.MapOnly; d.Breaks {
		d.faulty = false
	}
	if d.sums() {
		d.Reducer = "sum"
	} else if d.Folds == "most" {
		d.Reducer = "most"
	}
	if d.MapOnly {
		d.Emits, d.Folds, d.Ordered, d.Group, d.Parts, d.Flushes = of("emit", "raw"), "", false, false, false, false
		d.Holds = d.Holds && d.Emits == "emit"
		if maybe(2) && d.Delim == jobs.Newline && !d.Bare && !d.Named && d.Fixed == 0 {
			d.Limit = 1 + rng.Int64N(20)
		}
	}
	switch { // other jobs of the chain
	case d.NoInput || d.Begin:
	case maybe(6):
		d.Before = "rounds"
	case maybe(3) && !d.MapOnly && !d.Named:
		if d.After = of("sorts", "pairs", "rereads"); d.Fixed > 0 { // a binary record may have a delimiter in it
			d.After = "rereads"
		}
		d.Bare = d.Bare && d.After == "rereads" // parts without delimiters are other records than their sum
	}
	d.Ordered = d.Ordered && !d.Parts // they exclude each other
	if d.Ordered && d.Reduces > 1 {   // the ranges are those of a sample
		d.Flushes = false
	}
	return d
}

// drawnUser is the mapper, reducer or combiner of one attempt.
type drawnUser struct {
	d      *drawn
	own    jobs.OwnAttempt
	files  int // that Begin of the job got
	held   [][2][]byte
	groups int
	last   bool // it is a reducer, or the mapper of a job without reducers
	reduce func(u *drawnUser, key []byte, vs *jobs.Values, out jobs.Emitter) error
	flush  func(u *drawnUser, out jobs.Emitter)
}

func (u *drawnUser) Begin(own jobs.OwnAttempt) { u.own = own; u.d.counts.begun.Add(1) }
func (u *drawnUser) Close() error              { u.d.counts.closed.Add(1); return nil }

// newUser makes the user code of an attempt.
func (d *drawn) newUser(u drawnUser) *drawnUser {
	d.counts.made.Add(1)
	u.d = d
	return &u
}

// fails fails the first attempt of each second task. A sample has no Status.
func (u *drawnUser) fails() error {
	if !u.d.faulty || u.own.Status == nil || u.own.Number > 0 || u.own.Task%2 == 0 {
		return nil
	}
	if u.own.Task%4 == 1 {
		panic("the first attempt panics")
	}
	return errors.New("the first attempt fails")
}

// key returns the key and the value of a record.
func (u *drawnUser) key(dst, record []byte, input int32) (key, value []byte) {
	key, value, _ = bytes.Cut(record, []byte(" "))
	if u.d.Fixed > 0 {
		key, value = record[:1], record[1:]
	}
	if u.d.Input {
		dst = append(dst, byte('0'+input))
	}
	if dst = append(dst, key...); u.d.Begin {
		dst = strconv.AppendInt(dst, int64(u.files), 10)
	}
	if u.d.Before != "" {
		dst = append(dst, bytes.TrimRight(u.own.Side, "\n\x00")...)
	}
	if u.d.Group {
		dst = append(append(dst, '|'), value...)
	}
	if u.d.sums() {
		value = jobs.AppendUint64(nil, 1)
	}
	return dst, value
}

func (u *drawnUser) Map(b jobs.Block, out jobs.Emitter) error {
	records := b.Records(u.d.Delim)
	if u.d.Fixed > 0 {
		records = b.Fixed(u.d.Fixed)
	}
	if u.d.NoInput {
		records = slices.Values([][]byte{fmt.Append(nil, u.own.Task, " made")})
	}
	var spans []jobs.Span
	at := 0
	for record := range records {
		from := at
		if at += len(record); u.d.Fixed == 0 {
			at++
		}
		switch u.d.Emits {
		case "raw":
			out.(jobs.RawWriter).WriteRaw(append(record, u.d.Delim.Byte()))
			continue
		case "spans", "take":
			spans = append(spans, jobs.Span{Off: uint32(from), Len: uint32(len(record))})
			continue
		}
		for range u.d.Fan {
			key, value := u.key(nil, record, b.Input)
			u.emit(key, value, out)
		}
	}
	value := []byte(nil)
	if u.d.sums() {
		value = jobs.AppendUint64(nil, 2)
	}
	switch {
	case u.d.Emits == "spans":
		jobs.EmitSpans(out, b.Data, spans, value)
	case u.d.Emits == "take":
		out.(jobs.Taker).Take(b, spans)
	case u.d.Last && b.Last:
		u.emit(fmt.Appendf(nil, "end of %d|", b.File), value, out)
	}
	return nil
}

// emit emits a record, now or at the flush.
func (u *drawnUser) emit(key, value []byte, out jobs.Emitter) {
	if u.d.Holds {
		u.held = append(u.held, [2][]byte{key, bytes.Clone(value)})
		return
	}
	u.emitter(key, out).Emit(key, value)
}

// emitter returns the named output for some records, and else out.
func (u *drawnUser) emitter(key []byte, out jobs.Emitter) jobs.Emitter {
	if u.d.Named && len(key)%2 == 1 && u.last {
		return u.own.Output("odd")
	}
	return out
}

func (u *drawnUser) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	u.groups++
	return u.reduce(u, key, vs, u.emitter(key, out))
}

func (u *drawnUser) Flush(out jobs.Emitter) error {
	u.flush(u, out)
	return u.fails()
}

// releases emits what a mapper holds.
func (u *drawnUser) releases(out jobs.Emitter) {
	for _, p := range u.held {
		u.emitter(p[0], out).Emit(p[0], p[1])
	}
}

// counted emits the number of groups of a reducer.
func (u *drawnUser) counted(out jobs.Emitter) {
	if u.d.Flushes {
		out.Emit([]byte("groups"), strconv.AppendInt(nil, int64(u.groups), 10))
	}
}

// drawnRecords is a drawnUser for records alone.
type drawnRecords struct{ *drawnUser }

func (drawnRecords) ReduceRecord(key, value []byte, out jobs.Emitter) error {
	out.Emit(key, append(bytes.Clone(value), '!'))
	return nil
}

// shown shows all values of a group, with their keys in a job with GroupBytes.
func shown(_ *drawnUser, key []byte, vs *jobs.Values, out jobs.Emitter) error {
	var all []byte
	for vs.Next() {
		all = fmt.Appendf(all, "%q=%q%t;", vs.Key(), vs.Value(), vs.Value() == nil)
	}
	out.Emit(key, all)
	return nil
}

// total adds values of 8 bytes.
func total(vs *jobs.Values) []byte {
	n := uint64(0)
	for vs.Next() {
		n += jobs.Uint64(vs.Value())
	}
	return jobs.AppendUint64(nil, n)
}

// chain makes the chain, with user code that has no state yet.
func (d *drawn) chain() jobs.Chain {
	j := jobs.Job{Name: "drawn", Delim: d.Delim, RecordBytes: d.Fixed, Bare: d.Bare, Ordered: d.Ordered, NoInput: d.NoInput, ByFile: d.Last}
	d.addMapper(&j, 0)
	if !d.MapOnly {
		d.addReducer(&j)
		d.addFolds(&j)
	} else if d.Limit > 0 {
		j.NewReleaser = func() jobs.Releaser { return &numbering{limit: d.Limit} }
	}
	if d.NoInput {
		j.Maps = 3
	}
	if d.Named {
		j.Outputs = []string{"odd"}
	}
	prefix := func(key []byte) int { return bytes.IndexByte(key, '|') + 1 }
	if d.Group {
		j.GroupBytes = prefix
	}
	if d.Parts {
		j.Partition = func(key []byte, parts int) int { return (len(key[:prefix(key)]) + prefix(key)) % parts }
	}
	if d.Begin {
		begun := j
		j.Begin = func(files int) (jobs.Job, error) { d.addMapper(&begun, files); return begun, nil }
	}
	chain := jobs.Chain{j}
	if d.Before != "" {
		grow := growing()[0]
		grow.Delim, grow.RecordBytes, chain[0].Rereads = d.Delim, d.Fixed, true
		chain = jobs.Chain{grow, chain[0]}
	}
	if d.After != "" {
		after := jobs.Job{Name: "after", Text: d.After == "sorts", Reduces: 1, Delim: d.Delim, NewReducer: func() jobs.Reducer { return jobs.Identity{} }}
		if d.After == "rereads" {
			after.Rereads, after.RecordBytes = true, d.Fixed
		}
		after.NewMapper = func() jobs.Mapper { return &afterMapper{d: d, records: after.RecordBytes} }
		chain = append(chain, after)
	}
	return chain
}

// afterMapper is the mapper of drawn.After: it emits each record with the length of the side data.
type afterMapper struct {
	d       *drawn
	records int // bytes of each; 0: they end with Delim
	side    int
}

func (m *afterMapper) Begin(own jobs.OwnAttempt) { m.side = len(own.Side) }
func (m *afterMapper) Map(b jobs.Block, out jobs.Emitter) error {
	if b.Paired {
		for key, value := range b.Pairs() {
			out.Emit(key, value)
		}
		return nil
	}
	records := b.Records(m.d.Delim)
	if m.records > 0 {
		records = b.Fixed(m.records)
	}
	for record := range records {
		out.Emit(record, strconv.AppendInt(nil, int64(m.side), 10))
	}
	return nil
}

func (d *drawn) addMapper(j *jobs.Job, files int) {
	j.NewMapper = func() jobs.Mapper {
		return d.newUser(drawnUser{files: files, last: d.MapOnly, flush: (*drawnUser).releases})
	}
	if d.Emits == "take" {
		u := &drawnUser{d: d, files: files}
		j.AppendKey = func(dst, record []byte) []byte { key, _ := u.key(dst, record, 0); return key }
	}
}

func (d *drawn) addReducer(j *jobs.Job) {
	reduce := shown
	switch d.Reducer {
	case "sum":
		reduce = func(_ *drawnUser, key []byte, vs *jobs.Values, out jobs.Emitter) error {
			return jobs.NewSum().Reduce(key, vs, out)
		}
	case "most":
		reduce = func(_ *drawnUser, key []byte, vs *jobs.Values, out jobs.Emitter) error {
			return most{}.reduce(key, vs, out)
		}
	}
	j.NewReducer = func() jobs.Reducer {
		if kind, is := strings.CutPrefix(d.Reducer, "identity "); is {
			return jobs.Identity{Out: jobs.Column((kind[0] - '0') % 3), Unique: kind >= "3"}
		}
		u := d.newUser(drawnUser{last: true, reduce: reduce, flush: (*drawnUser).counted})
		if d.Reducer == "record" && !d.Group {
			return drawnRecords{u}
		}
		return u
	}
}

func (d *drawn) addFolds(j *jobs.Job) {
	sum := func(_ *drawnUser, key []byte, vs *jobs.Values, out jobs.Emitter) error {
		out.Emit(key, total(vs))
		return nil
	}
	switch d.Folds {
	case "sum":
		j.NewFolder = func() jobs.Folder { return jobs.Sum{} }
	case "own sum":
		j.NewFolder = func() jobs.Folder { return ownSum{} }
	case "most":
		j.NewFolder = func() jobs.Folder { return most{} }
	case "combiner":
		j.NewCombiner = func() jobs.Reducer {
			return jobs.ReducerFunc(func(key []byte, vs *jobs.Values, out jobs.Emitter) error {
				if d.Breaks {
					key = append(bytes.Clone(key), 'x')
				}
				return sum(nil, key, vs, out)
			})
		}
	case "late combiner":
		j.NewCombiner = func() jobs.Reducer {
			return d.newUser(drawnUser{reduce: func(u *drawnUser, key []byte, vs *jobs.Values, _ jobs.Emitter) error {
				u.held = append(u.held, [2][]byte{bytes.Clone(key), total(vs)})
				return nil
			}, flush: func(u *drawnUser, out jobs.Emitter) {
				for _, p := range u.held {
					out.Emit(p[0], p[1])
				}
				if d.Breaks {
					out.Emit([]byte("~"), []byte("1"))
					out.Emit(nil, []byte("1"))
				}
				u.held = nil
			}})
		}
	}
}

// work draws the input and the options.
func (d *drawn) work(rng *rand.Rand) work {
	w := work{rng: rng, reduces: d.Reduces, dir: rng.IntN(3) == 0, split: 1 + rng.IntN(400), inputs: []int32{}}
	w.cut = jobtest.Cut{BlockBytes: rng.IntN(50), SplitBlocks: rng.IntN(4)}
	lines := 1 + rng.IntN(40)
	if rng.IntN(6) == 0 { // does not fit into a small kvbuffer
		lines, w.split = 4000, 30_000
	}
	for i := range 1 + rng.IntN(4) {
		var text bytes.Buffer
		for range rng.IntN(lines) {
			if d.Fixed > 0 {
				text.WriteString([]string{"a 1", "b\n2", "c\x003", "aaa"}[rng.IntN(4)])
				continue
			}
			text.WriteString([]string{"", "a", "b", "ab", "k" + strconv.Itoa(rng.IntN(100)), "\x01\t", " "}[rng.IntN(7)])
			text.WriteString([]string{"", " ", " 1", " 22\t", " " + strings.Repeat("v", rng.IntN(60))}[rng.IntN(5)])
			text.WriteByte(d.Delim.Byte())
		}
		data := text.Bytes()
		if rng.IntN(3) == 0 && d.Fixed == 0 {
			data = bytes.TrimSuffix(data, []byte{d.Delim.Byte()})
		}
		w.files = append(w.files, jobtest.File{Path: fmt.Sprint("f", i), Data: data})
		w.inputs = append(w.inputs, int32(i/2))
	}
	if d.NoInput {
		w.files, w.inputs = []jobtest.File{}, nil
	}
	o := &w.options
	o.Trackers, o.MapSlots, o.ReduceSlots = 1+rng.IntN(2), 1+rng.IntN(2), 1
	o.MemoryBytes = []int64{0, 48 << 20}[rng.IntN(2)]
	o.CopyOutputs = rng.IntN(4) == 0
	if rng.IntN(2) == 0 {
		o.SortBufferBytes, o.NoGrowth, o.MergeFactor = 16<<10, rng.IntN(2) == 0, 2+rng.IntN(3)
	}
	if rng.IntN(3) == 0 {
		o.Faults = []mrlocal.Fault{{Tracker: -1, Task: 0, Fail: 1}, {Tracker: -1, Task: 0, Fail: 1, Reduce: true}}[:1+rng.IntN(2)]
		if d.MapOnly {
			o.Faults = o.Faults[:1]
		}
	}
	return w
}

// TestARandomJobHasOneResultInEachWay draws jobs with several abilities, their input, memory, policy and faults.
// Each way has the result of the reference, or refuses the job by name. -draw N repeats one of them.
func TestARandomJobHasOneResultInEachWay(t *testing.T) {
	t.Parallel() // much of its time it waits for the disk
	resumed, refused := int64(0), 0
	for n := uint64(1); n <= uint64(*draws); n++ {
		if *draw == 0 || *draw == n {
			refused += oneRandomJob(t, n, &resumed)
		}
	}
	if *draw == 0 && *draws >= 15 && (resumed == 0 || refused == 0) {
		t.Errorf("%d maps were resumed, %d jobs were refused", resumed, refused)
	}
}

func oneRandomJob(t *testing.T, n uint64, resumed *int64) (refused int) {
	rng := rand.New(rand.NewPCG(n, 31))
	d := drawJob(rng)
	w := d.work(rng)
	w.resumed = resumed
	p, err := registry.New(d.Policy, policy.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	w.options.Policy = p
	faulty := d.faulty
	d.faulty = false // each attempt of the reference and under Hadoop is the first one
	want, err := referenceWay(t, d.chain(), w)
	d.counts = counts{}
	_, broken, _ := strings.Cut(fmt.Sprint(err), ": combiner: ")
	if err != nil && (broken == "" || !d.Breaks) {
		t.Fatalf("draw %d: %+v: %v", n, d, err)
	}
	other := w // another memory, and no spills
	other.options.MemoryBytes, other.options.SortBufferBytes, other.split, other.cut = 96<<20, 0, 0, jobtest.Cut{}
	for i, c := range []struct {
		way way
		w   work
		not string
	}{
		{way{"reference, cut in another way", referenceWay}, other, ""}, {way{"run", runWay}, w, ""}, {way{"stream", streamWay}, w, d.notStreamed()},
		{way{"run with other memory", runWay}, other, ""}, {way{"batch", batchWay}, w, ""}, {way{"resume", resumeWay}, w, d.notResumed()},
	} {
		if i > 2 && i != 3+int(n%3) { // one of the last three
			continue
		}
		d.faulty = faulty && c.way.name != "stream" && i > 0
		got, err := c.way.run(t, d.chain(), c.w)
		switch {
		case c.not != "":
			if refused++; !errors.Is(err, mrlocal.ErrBadOptions) && !errors.Is(err, errs.BadInput) || !strings.Contains(err.Error(), c.not) {
				t.Errorf("draw %d: %s: %v, want %q\n%+v", n, c.way.name, err, c.not, d)
			}
		case broken != "":
			if err == nil || !strings.Contains(err.Error(), broken) {
				t.Errorf("draw %d: %s: %v, want %s\n%+v", n, c.way.name, err, broken, d)
			}
		case err != nil || got != want:
			t.Errorf("draw %d: %s: %v\ngot  %.200q\nwant %.200q\n%+v", n, c.way.name, err, got, want, d)
		}
		// An attempt that is killed may have made user code that it never begins. FIFO kills none.
		made, begun, closed := d.counts.made.Swap(0), d.counts.begun.Swap(0), d.counts.closed.Swap(0)
		if begun != closed || made < begun || made != begun && d.Policy == "fifo" && d.Limit == 0 && c.not == "" && c.way.name != "resume" {
			t.Errorf("draw %d: %s: %d made, %d begun, %d closed\n%+v", n, c.way.name, made, begun, closed, d)
		}
	}
	return refused
}

// notResumed returns words of the refusal of a run with Options.ResumeDir; "": it goes on.
func (d *drawn) notResumed() string {
	switch {
	case d.MapOnly && d.Before == "":
		return "only jobs with reduces can go on after a kill"
	case d.NoInput:
		return "finds its input by itself"
	}
	return ""
}
