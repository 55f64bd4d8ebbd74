package engine

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"

	"mrlocal/input/feed"
	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/slots"
)

// targetSink is the Sink of the last job of a chain. Its parts are those of
// the chain's output: a part file for each task, or all parts in order in one
// file or stream. The output is begun when the chain is opened or, in a very large
// batch, with the first part.
type targetSink struct {
	job     *job
	inOrder bool // one file or stream gets all parts in order

	// begin begins the output with the first call, and returns it. Attempts begin parts at the same
	// time, and the first one begins the output for all.
	begin func() (*output.Target, error)
}

// newTargetSink makes the sink of the last job of a chain. It also makes the job's Releaser, if
// the job has one: a Releaser gets the parts in order.
func (j *job) newTargetSink() *targetSink {
	s := &targetSink{job: j, inOrder: j.chain.job.OutputDir == "" || j.spec.NewReleaser != nil && j.mapOnly()}
	s.begin = sync.OnceValues(s.beginOnce)
	// The Releaser lives as long as the job: it sees the parts of all attempts in order.
	if j.mapOnly() && j.spec.NewReleaser != nil {
		j.releaser = j.spec.NewReleaser()
	}
	if j.chain.target() != nil {
		_, _ = s.begin() // Part returns the error again
	}
	return s
}

// beginOnce begins the output. It sets the number of parts, the memory of the output, and the
// functions that the output calls when it has released parts.
func (s *targetSink) beginOnce() (*output.Target, error) {
	target, err := s.job.chain.begin()
	if err != nil {
		return nil, err
	}
	j, r := s.job, s.job.chain.run
	p := output.Parts{Count: j.Parts, MapOnly: j.mapOnly(), Memory: r.budget, CreateTemp: r.createTemp("part")}
	p.Compressors = min(r.o.allSlots(), len(r.cores)) // no more cores than the slots have
	if j.mapOnly() {
		// The output calls these functions on its own goroutines. Only the coordinator may
		// change the job, so they go through its inbox.
		inbox := r.coordinator.inbox
		p.OnRelease = func(int) {
			inbox.Post(func() {
				if j.state < jobEnded { // more maps may start
					j.updateReady()
				}
			})
		}
		if j.releaser != nil {
			p.Releaser = guard.Releaser(j.releaser)
			p.OnVerdict = func(task int, v jobs.Verdict) { inbox.Post(func() { j.verdict(task, v) }) }
		}
	}
	target.Expect(p)
	// With a feeder the number of parts is not known before its last map.
	if j.mapOnly() && j.feeder == nil {
		target.Seal(len(j.maps))
	}
	return target, nil
}

// Part begins the part of task t for an attempt. It fails if the output cannot be begun, or if
// another attempt has committed the part.
func (s *targetSink) Part(t, attempt int) (output.Part, error) {
	target, err := s.begin()
	switch {
	case err != nil:
		return nil, err
	// Parts in order share one writer; other parts are files of their own.
	case s.inOrder:
		return target.Part(t, attempt)
	}
	return target.Attempt(t, attempt)
}

// Sizes sets the bytes of every part, so that parts of one file are written in parallel, each
// at its own offset. It does nothing for part files. It also does nothing under a policy that
// runs several attempts of a task: two attempts must not write at one offset.
func (s *targetSink) Sizes(bytes []int64) error {
	if _, speculates := s.job.chain.run.claimed.Inner.(slots.Speculator); speculates || !s.inOrder {
		return nil
	}
	target, err := s.begin()
	if err == nil {
		_, err = target.SetSizes(bytes)
	}
	return err
}

// textOut is the Emitter of reducers and of map-only mappers. It gathers records
// as text in a chunk of leased memory and writes full chunks to a part.
type textOut struct {
	w       io.Writer
	buf     []byte // its capacity never changes
	delim   byte
	of      *userTime // of the attempt
	err     error     // the first one of w, or of wholeOut; later text is dropped
	records int64
	bytes   int64 // written to w
}

// bareOut is the Emitter of a job whose output is binary (jobs.Job.Bare). It writes to a
// textOut.
type bareOut struct{ *textOut }

// Emit writes key and value without TAB and delimiter.
func (b bareOut) Emit(key, value []byte) {
	b.records++
	b.put(key)
	b.put(value)
}

// wholeOut is the Emitter of a job whose text the next job of the chain reads. It writes to a textOut. It refuses a
// record that would be two records there.
type wholeOut struct{ *textOut }

func (w wholeOut) Emit(key, value []byte) {
	if w.err == nil && (bytes.IndexByte(key, w.delim) >= 0 || bytes.IndexByte(value, w.delim) >= 0) {
		w.err = jobs.Mistakef("the record of the key %s has a delimiter (%q) in it, so the next job of the chain would read two records", errs.Quote(string(key)), w.delim)
	}
	w.textOut.Emit(key, value)
}

// pairsOut is the Emitter of a job whose pairs the next job of the chain reads. It writes to a textOut.
type pairsOut struct{ *textOut }

// Emit writes the pair. It copies both slices.
func (p pairsOut) Emit(key, value []byte) {
	p.records++
	if cap(p.buf)-len(p.buf) >= jobs.MostPairHead+len(key)+len(value) {
		p.buf = jobs.AppendPair(p.buf, key, value)
		return
	}
	head := make([]byte, 0, jobs.MostPairHead)
	head = binary.AppendUvarint(binary.AppendUvarint(head, uint64(len(key))), uint64(len(value)))
	p.put(head)
	p.put(key)
	p.put(value)
}

// newTextOut makes a textOut that writes to w. Its buffer of at least the given number of bytes is a chunk
// of the attempt's lease. The chunk goes back when the lease is closed.
func newTextOut(a *attempt, w io.Writer, bytes int) (*textOut, error) {
	c, err := feed.Memory{Lease: a.lease}.Get(bytes)
	if err != nil {
		return nil, err
	}
	text := &textOut{w: w, buf: c.Data[:0], of: a.user, delim: a.job.spec.Delim.Byte()}
	a.texts = append(a.texts, text)
	return text, nil
}

// Emit writes key, TAB, value and delimiter. It leaves out the TAB if key or value is empty. It
// copies both.
func (t *textOut) Emit(key, value []byte) {
	t.records++
	// Two bytes are for TAB and delimiter. A record that does not fit into the buffer goes
	// through put in parts.
	if cap(t.buf)-len(t.buf) < len(key)+len(value)+2 {
		t.put(key)
		if len(key) > 0 && len(value) > 0 {
			t.put([]byte{'\t'})
		}
		t.put(value)
		t.put([]byte{t.delim})
		return
	}
	t.buf = append(t.buf, key...)
	if len(key) > 0 && len(value) > 0 {
		t.buf = append(t.buf, '\t')
	}
	t.buf = append(append(t.buf, value...), t.delim)
}

// line writes one record and its delimiter. Loops over very many records call it
// instead of Emit.
func (t *textOut) line(record []byte) {
	t.records++
	if cap(t.buf)-len(t.buf) < len(record)+1 {
		t.put(record)
		t.put([]byte{t.delim})
		return
	}
	t.buf = append(append(t.buf, record...), t.delim)
}

// WriteRaw writes p without a delimiter.
func (t *textOut) WriteRaw(p []byte) { t.put(p) }

// put appends p to the buffer, and writes the buffer whenever it is full. If the attempt is
// killed, put panics with jobs.ErrKilled. The panic ends the user code that is calling.
// guard.Run or guard.RunToEnd recovers it. After end, put drops p and notes the mistake.
func (t *textOut) put(p []byte) {
	for {
		if t.w == nil && len(p) > 0 {
			t.of.emittedLate()
			return
		}
		n := copy(t.buf[len(t.buf):cap(t.buf)], p)
		t.buf = t.buf[:len(t.buf)+n]
		if p = p[n:]; len(p) == 0 {
			return
		}
		if t.of.attempt.killed() {
			panic(jobs.ErrKilled)
		}
		t.flush()
	}
}

// flush writes the buffer, and returns the first error of the textOut.
func (t *textOut) flush() error {
	if t.err == nil && len(t.buf) > 0 {
		var n int
		n, t.err = t.w.Write(t.buf)
		t.bytes += int64(n)
	}
	// After an error the text is dropped: the attempt fails with t.err, and drops its part.
	t.buf = t.buf[:0]
	return t.err
}

// end flushes and drops the buffer.
func (t *textOut) end() error {
	defer t.drop()
	return t.flush()
}

// drop leaves the chunk of the buffer to the lease: user code that still emits must not write to it. A
// second call does nothing, because such user code may run by then.
func (t *textOut) drop() {
	if t.w != nil {
		t.w, t.buf = nil, nil
	}
}

// outputBytes is the buffer of a named output. It is small because a job may have many of them.
const outputBytes = 16 << 10

// output returns the Emitter of a named output (jobs.OwnAttempt.Output). It returns no error: if
// the output cannot be opened, endOutputs fails the attempt at its end.
func (a *attempt) output(name string) jobs.Emitter {
	if text, ok := a.outputs[name]; ok {
		return a.emitter(text)
	}
	text, err := a.openOutput(name)
	if err != nil {
		text = &textOut{w: io.Discard, buf: make([]byte, 0, 64), of: a.user, err: err}
	}
	if a.outputs == nil {
		a.outputs = map[string]*textOut{}
	}
	a.outputs[name] = text
	return a.emitter(text)
}

// openOutput opens a named output next to the part of the attempt. The output is committed or
// dropped with the part. openOutput fails if the job does not list the name, because each part of
// the result has a file for each listed name.
func (a *attempt) openOutput(name string) (*textOut, error) {
	if !slices.Contains(a.job.spec.Outputs, name) {
		return nil, fmt.Errorf("output %q is none of the job's Outputs", name)
	}
	part, ok := a.part.(output.Besides)
	if !ok {
		return nil, fmt.Errorf("output %q: this attempt writes no part of the result; where a job has reducers, only they do", name)
	}
	w, err := part.Beside(name)
	if err != nil {
		return nil, err
	}
	return newTextOut(a, w, outputBytes)
}

// dir returns the directory for files that user code makes by itself (jobs.OwnAttempt.Dir).
func (a *attempt) dir() (string, error) {
	sink, ok := a.job.sink.(*targetSink)
	switch {
	case !ok || sink.inOrder:
		return "", nil
	case a.part == nil && a.bare == nil: // a map with reduces
		target, err := sink.begin()
		if err == nil {
			a.bare, err = target.Bare(int(a.id.Task), int(a.id.N))
		}
		if err != nil {
			return "", err
		}
		a.undo = append(a.undo, a.bare.Abort)
	}
	part, ok := cmp.Or(a.part, a.bare).(output.HasDir)
	if !ok {
		return "", nil
	}
	return part.Dir()
}

// endOutputs writes the buffers of named outputs, in the order of jobs.Job.Outputs, and ends the
// outputs. It returns the first error of any of them.
func (a *attempt) endOutputs() error {
	a.user.emitted.Store(true)
	for _, name := range a.job.spec.Outputs {
		if text := a.outputs[name]; text != nil {
			if err := text.end(); err != nil {
				return err
			}
			a.counters.OutputBytes += text.bytes
		}
	}
	for _, text := range a.outputs { // names that the job does not list have an error and no part
		if text.err != nil {
			return text.err
		}
	}
	return nil
}
