package task

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"mrlocal/engine/source"
	"mrlocal/internal/disk"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/output/spool"
	"mrlocal/spill/runs"
)

// Sink is where a job's parts go.
type Sink interface {
	Part(task, attempt int) (Part, error)
	Sizes(bytes []int64) error // of every part, where they are known before the first is written
}

// Part is one attempt's share of the output. Of several attempts at a task the
// first to commit wins; Commit of the others returns output.ErrLost.
type Part interface {
	io.Writer
	Commit() error
	Abort()
}

// Spools is a Sink that keeps each part for the next job of a chain, in memory
// where the budget allows that.
type Spools struct {
	memory     *membudget.Budget
	createTemp func() (*disk.TempFile, error)
	mu         sync.Mutex     // while attempts run
	parts      []*spool.Spool // by task; set by the attempt that commits first
}

// NewSpools makes the sink of a job with so many parts.
func NewSpools(parts int, memory *membudget.Budget, createTemp func() (*disk.TempFile, error)) *Spools {
	return &Spools{memory: memory, createTemp: createTemp, parts: make([]*spool.Spool, parts)}
}

// Part makes an empty spool.
func (s *Spools) Part(task, _ int) (Part, error) {
	return &spoolPart{Spool: spool.New(s.memory, s.createTemp), sink: s, task: task}, nil
}

// Sizes does nothing: a spool grows.
func (s *Spools) Sizes([]int64) error { return nil }

// Parts returns the parts, by task, when the job has ended; nil: none was
// committed. They stay those of the sink.
func (s *Spools) Parts() []*spool.Spool { return s.parts }

// Text returns all parts as one text, in their order, when the job has ended. It fails if
// they have more than mostBytes.
func (s *Spools) Text(mostBytes int64) ([]byte, error) {
	var total int64
	for _, p := range s.parts {
		if p != nil {
			total += p.Bytes()
		}
	}
	if total > mostBytes {
		return nil, fmt.Errorf("has written %d bytes of side data, of which there are at most %d", total, mostBytes)
	}
	text := make([]byte, 0, total)
	for _, p := range s.parts {
		if p == nil {
			continue
		}
		at := len(text)
		text = text[:at+int(p.Bytes())]
		r := p.NewReader()
		_, err := io.ReadFull(r, text[at:])
		r.Close()
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// Release frees all parts.
func (s *Spools) Release() {
	for i, p := range s.parts {
		if p != nil {
			p.Release()
			s.parts[i] = nil
		}
	}
}

type spoolPart struct {
	*spool.Spool
	sink *Spools
	task int
}

// Commit keeps the spool, if no other attempt of the task has committed.
func (p *spoolPart) Commit() error {
	// Sealing writes what is left, outside of the lock.
	if err := p.Seal(); err != nil {
		p.Release()
		return err
	}
	p.sink.mu.Lock()
	defer p.sink.mu.Unlock()
	if p.sink.parts[p.task] != nil {
		p.Release()
		return output.ErrLost
	}
	p.sink.parts[p.task] = p.Spool
	return nil
}

// It may follow a failed Commit: a second Release does nothing.
func (p *spoolPart) Abort() { p.Release() }

// Discard is a Sink that throws the output away. The zero value is ready.
type Discard struct {
	mu        sync.Mutex
	committed map[int]struct{} // tasks
}

// Part takes whatever is written to it.
func (d *Discard) Part(task, _ int) (Part, error) { return discardedPart{d, task}, nil }

// Sizes does nothing.
func (*Discard) Sizes([]int64) error { return nil }

type discardedPart struct {
	sink *Discard
	task int
}

func (discardedPart) Write(p []byte) (int, error) { return len(p), nil }
func (discardedPart) Abort()                      {}

// Commit notes that the task is done, if no other attempt of it has committed.
func (p discardedPart) Commit() error {
	p.sink.mu.Lock()
	defer p.sink.mu.Unlock()
	if _, lost := p.sink.committed[p.task]; lost {
		return output.ErrLost
	}
	if p.sink.committed == nil {
		p.sink.committed = map[int]struct{}{}
	}
	p.sink.committed[p.task] = struct{}{}
	return nil
}

// textOut is the Emitter of reducers and of map-only mappers. It gathers records
// as text in a chunk of leased memory and writes full chunks to a part.
type textOut struct {
	w       io.Writer
	buf     []byte
	delim   byte
	killed  func() bool
	err     error // the first one
	records int64
	bytes   int64 // written to w
}

// bareOut is the Emitter of a job whose output is binary (jobs.Job.Bare). It writes to a
// textOut.
type bareOut struct{ *textOut }

// Emit writes key and value side by side.
func (b bareOut) Emit(key, value []byte) {
	b.records++
	b.put(key)
	b.put(value)
}

// newTextOut takes a chunk of the attempt's lease, which goes back with the lease.
func newTextOut(a *SlotAttempt, w io.Writer) (*textOut, error) {
	return newTextOutOf(a, w, membudget.ChunkBytes)
}

func newTextOutOf(a *SlotAttempt, w io.Writer, bytes int) (*textOut, error) {
	c, err := source.Memory{Lease: a.lease}.Get(bytes)
	if err != nil {
		return nil, err
	}
	return &textOut{w: w, buf: c.Data[:0], killed: a.Killed, delim: a.Job.Spec.Delim.Byte()}, nil
}

// Emit writes key, TAB, value and delimiter. It leaves out a nil key or value, and
// the TAB with it.
func (t *textOut) Emit(key, value []byte) {
	t.records++
	// Two bytes are for TAB and delimiter. A record longer than the buffer goes through put in
	// parts.
	if cap(t.buf)-len(t.buf) < len(key)+len(value)+2 {
		t.put(key)
		if key != nil && value != nil {
			t.put([]byte{'\t'})
		}
		t.put(value)
		t.put([]byte{t.delim})
		return
	}
	t.buf = append(t.buf, key...)
	if key != nil && value != nil {
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

// put appends p. It writes the buffer whenever that is full. If the attempt is killed, it ends
// the user code that is calling: it panics with runs.ErrKilled, which the engine recovers.
func (t *textOut) put(p []byte) {
	for {
		n := copy(t.buf[len(t.buf):cap(t.buf)], p)
		t.buf = t.buf[:len(t.buf)+n]
		if p = p[n:]; len(p) == 0 {
			return
		}
		if t.killed() {
			panic(runs.ErrKilled)
		}
		t.flush()
	}
}

// flush writes what the buffer holds.
func (t *textOut) flush() error {
	if t.err == nil && len(t.buf) > 0 {
		var n int
		n, t.err = t.w.Write(t.buf)
		t.bytes += int64(n)
	}
	// After an error the text is dropped: the attempt fails with t.err, and its part goes.
	t.buf = t.buf[:0]
	return t.err
}

// outputBytes is the buffer of a named output.
const outputBytes = 16 << 10

// besider is a Part whose attempt may write further files, which are committed with it.
type besider interface {
	Beside(name string) (io.Writer, error)
}

// Beside throws a named output away, as all else.
func (p discardedPart) Beside(string) (io.Writer, error) { return p, nil }

// output returns the Emitter of a named output (jobs.OwnAttempt.Output). An output that cannot be
// had fails the attempt, at its end.
func (a *SlotAttempt) output(name string) jobs.Emitter {
	if text, ok := a.outputs[name]; ok {
		return a.emitter(text)
	}
	text, err := a.openOutput(name)
	if err != nil {
		text = &textOut{w: io.Discard, buf: make([]byte, 0, 64), killed: a.Killed, err: err}
	}
	if a.outputs == nil {
		a.outputs = map[string]*textOut{}
	}
	a.outputs[name] = text
	return a.emitter(text)
}

// openOutput opens a named output beside the part of the attempt. It ends with the part. A name
// that the job does not list is an error, since the result would not have its file for each part.
func (a *SlotAttempt) openOutput(name string) (*textOut, error) {
	if !slices.Contains(a.Job.Spec.Outputs, name) {
		return nil, fmt.Errorf("output %q is none of the job's Outputs", name)
	}
	part, ok := a.part.(besider)
	if !ok {
		return nil, fmt.Errorf("output %q: this attempt writes no part of the result; where a job has reducers, only they do", name)
	}
	w, err := part.Beside(name)
	if err != nil {
		return nil, err
	}
	return newTextOutOf(a, w, outputBytes)
}

// flushOutputs writes what the buffers of named outputs hold, in the order of their names. It
// returns the first error of any of them.
func (a *SlotAttempt) flushOutputs() error {
	for _, name := range a.Job.Spec.Outputs {
		if text := a.outputs[name]; text != nil {
			if err := text.flush(); err != nil {
				return err
			}
			a.Counters.OutputBytes += text.bytes
		}
	}
	for _, text := range a.outputs { // of other names, which have only errors
		if text.err != nil {
			return text.err
		}
	}
	return nil
}
