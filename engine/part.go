package engine

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"mrlocal/input/feed"
	"mrlocal/internal/disk"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/output"
)

// Sink takes the parts of a job's output. Its methods may be called from any goroutine.
type Sink interface {
	// Part begins the part that an attempt of a task writes.
	Part(task, attempt int) (Part, error)
	// Sizes sets the bytes of every part. It is called before the first part is begun, and
	// only if the sizes are known by then.
	Sizes(bytes []int64) error
}

// Part is the part of the output that one attempt writes. The first attempt of a task to
// commit wins. Commit of the others returns output.ErrLost.
type Part interface {
	io.Writer
	Commit() error
	Abort() // drops the part; it may follow a Commit that failed
}

// Spools is a Sink that keeps each part for the next job of a chain. A part stays in memory
// if the budget allows it, else in a temporary file.
type Spools struct {
	memory     *membudget.Budget
	createTemp func() (*disk.TempFile, error)
	mu         sync.Mutex      // guards parts while attempts run
	parts      []*output.Spool // by task; set by the attempt that commits first
}

// NewSpools makes the sink of a job with so many parts. Release frees them.
func NewSpools(parts int, memory *membudget.Budget, createTemp func() (*disk.TempFile, error)) *Spools {
	return &Spools{memory: memory, createTemp: createTemp, parts: make([]*output.Spool, parts)}
}

// Part makes an empty spool.
func (s *Spools) Part(task, _ int) (Part, error) {
	return &spoolPart{Spool: output.NewSpool(s.memory, s.createTemp), sink: s, task: task}, nil
}

// Sizes does nothing: a spool grows.
func (s *Spools) Sizes([]int64) error { return nil }

// Parts returns the parts by task, nil for a task that has committed none. It is called when
// the job has ended. The sink still owns the parts.
func (s *Spools) Parts() []*output.Spool { return s.parts }

// Text returns all parts as one text, in their order. It is called when the job has ended. It
// fails if the parts have more than mostBytes. The caller owns the text.
func (s *Spools) Text(mostBytes int64) ([]byte, error) {
	var total int64
	for _, p := range s.parts {
		if p != nil {
			total += p.Bytes()
		}
	}
	if total > mostBytes {
		return nil, fmt.Errorf("wrote %d bytes of side data; at most %d are allowed", total, mostBytes)
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

// Release frees all parts. It may be called again.
func (s *Spools) Release() {
	for i, p := range s.parts {
		if p != nil {
			p.Release()
			s.parts[i] = nil
		}
	}
}

// spoolPart is the part of one attempt. Its spool belongs to the sink once it has committed.
type spoolPart struct {
	*output.Spool
	sink *Spools
	task int
}

// Commit keeps the spool, if no other attempt of the task has committed. Otherwise it releases
// the spool and returns output.ErrLost.
func (p *spoolPart) Commit() error {
	// Seal may write to disk, so it comes before the lock.
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

// Abort releases the spool. It may follow a failed Commit: a second Release does nothing.
func (p *spoolPart) Abort() { p.Release() }

// Discard is a Sink that throws the output away. The zero value is ready.
type Discard struct {
	mu        sync.Mutex
	committed map[int]struct{} // tasks
}

// Part returns a part that drops all bytes.
func (d *Discard) Part(task, _ int) (Part, error) { return discardedPart{d, task}, nil }

// Sizes does nothing: no bytes are kept.
func (*Discard) Sizes([]int64) error { return nil }

// discardedPart only remembers which attempt of a task commits first.
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
	buf     []byte // its capacity never changes
	delim   byte
	of      *userTime // of the attempt
	err     error     // the first one of w; later text is dropped
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

// newTextOut makes a textOut that writes to w. Its buffer is a chunk of the attempt's lease. The
// chunk goes back when the lease is closed.
func newTextOut(a *SlotAttempt, w io.Writer) (*textOut, error) {
	return newTextOutOf(a, w, membudget.ChunkBytes)
}

// newTextOutOf is newTextOut with a buffer of at least so many bytes.
func newTextOutOf(a *SlotAttempt, w io.Writer, bytes int) (*textOut, error) {
	c, err := feed.Memory{Lease: a.lease}.Get(bytes)
	if err != nil {
		return nil, err
	}
	text := &textOut{w: w, buf: c.Data[:0], of: a.user, delim: a.Job.Spec.Delim.Byte()}
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
// guard.Run or guard.CatchPanic recovers it. After end, put drops p and notes the mistake.
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
		if t.of.attempt.Killed() {
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

// namedParts is a Part that has files for the named outputs of its attempt. They are committed
// with the part.
type namedParts interface {
	Beside(name string) (io.Writer, error)
}

// Beside returns a writer that drops a named output.
func (p discardedPart) Beside(string) (io.Writer, error) { return p, nil }

// output returns the Emitter of a named output (jobs.OwnAttempt.Output). It returns no error: if
// the output cannot be opened, endOutputs fails the attempt at its end.
func (a *SlotAttempt) output(name string) jobs.Emitter {
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

// openOutput opens a named output beside the part of the attempt. The output is committed or
// dropped with the part. openOutput fails if the job does not list the name, because each part of
// the result has a file for each listed name.
func (a *SlotAttempt) openOutput(name string) (*textOut, error) {
	if !slices.Contains(a.Job.Spec.Outputs, name) {
		return nil, fmt.Errorf("output %q is none of the job's Outputs", name)
	}
	part, ok := a.part.(namedParts)
	if !ok {
		return nil, fmt.Errorf("output %q: this attempt writes no part of the result; where a job has reducers, only they do", name)
	}
	w, err := part.Beside(name)
	if err != nil {
		return nil, err
	}
	return newTextOutOf(a, w, outputBytes)
}

// endOutputs writes the buffers of named outputs, in the order of jobs.Job.Outputs, and ends the
// outputs. It returns the first error of any of them.
func (a *SlotAttempt) endOutputs() error {
	a.user.emitted.Store(true)
	for _, name := range a.Job.Spec.Outputs {
		if text := a.outputs[name]; text != nil {
			if err := text.end(); err != nil {
				return err
			}
			a.Counters.OutputBytes += text.bytes
		}
	}
	for _, text := range a.outputs { // names that the job does not list have an error and no part
		if text.err != nil {
			return text.err
		}
	}
	return nil
}
