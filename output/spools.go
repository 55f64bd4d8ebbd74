package output

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"mrlocal/internal/disk"
	"mrlocal/internal/membudget"
)

// Spools is a Sink that keeps each part for the next job of a chain. A part stays in memory
// if the budget allows it, else in a temporary file.
type Spools struct {
	memory     *membudget.Budget
	createTemp func() (*disk.TempFile, error)
	mu         sync.Mutex // guards parts while attempts run
	parts      []*Spool   // by task; set by the attempt that commits first
}

// NewSpools makes the sink of a job with the given number of parts. Release frees them.
func NewSpools(parts int, memory *membudget.Budget, createTemp func() (*disk.TempFile, error)) *Spools {
	return &Spools{memory: memory, createTemp: createTemp, parts: make([]*Spool, parts)}
}

// Part makes an empty spool.
func (s *Spools) Part(task, _ int) (Part, error) {
	return &spoolPart{Spool: NewSpool(s.memory, s.createTemp), sink: s, task: task}, nil
}

// Sizes does nothing: a spool grows.
func (s *Spools) Sizes([]int64) error { return nil }

// Parts returns the parts by task, nil for a task that has committed none. It is called when
// the job has ended. The sink still owns the parts.
func (s *Spools) Parts() []*Spool { return s.parts }

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
	var text bytes.Buffer
	text.Grow(int(total) + bytes.MinRead) // the room that ReadFrom wants behind the end
	for _, p := range s.parts {
		if p == nil {
			continue
		}
		if _, err := p.WriteTo(&text); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
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
	*Spool
	sink    *Spools
	task    int
	aborted bool // the sink's mu guards it
}

// Commit keeps the spool, if no other attempt of the task has committed. Otherwise it releases
// the spool and returns ErrLost.
func (p *spoolPart) Commit() error {
	// Seal may write to disk, so it comes before the lock.
	if err := p.Seal(); err != nil {
		p.Release()
		return err
	}
	p.sink.mu.Lock()
	defer p.sink.mu.Unlock()
	switch {
	case p.aborted:
		return ErrAborted
	case p.sink.parts[p.task] != nil:
		p.Release()
		return ErrLost
	}
	p.sink.parts[p.task] = p.Spool
	return nil
}

// Abort releases the spool, unless it has committed. It may follow a failed Commit: a second Release does
// nothing.
func (p *spoolPart) Abort() {
	p.sink.mu.Lock()
	defer p.sink.mu.Unlock()
	if p.sink.parts[p.task] != p.Spool {
		p.aborted = true
		p.Release()
	}
}

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
		return ErrLost
	}
	if p.sink.committed == nil {
		p.sink.committed = map[int]struct{}{}
	}
	p.sink.committed[p.task] = struct{}{}
	return nil
}

// Beside implements Besides. It returns a writer that drops the named output.
func (p discardedPart) Beside(string) (io.Writer, error) { return p, nil }
