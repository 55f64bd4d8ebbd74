package spill

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"mrlocal/internal/membudget"
	"mrlocal/spill/late"
	"mrlocal/spill/run"
)

// memoryRun is what a map collected last, sorted and still in memory: slices
// in the order of arrival.
type memoryRun struct {
	arena  run.Arena
	slices []run.Slice
	lease  *membudget.Lease
	late   *late.State // nil: sorted
	slots  bool        // entries refer to a table

	// Guarded by the output's lock.
	readers []*atomic.Bool // of the merges that read it: set when it is on disk
	onDisk  *run.Segment   // nil: not yet
}

// MapOutput is what one map attempt made: sorted runs, in the order of
// arrival. All but the last are segments of one temporary file; the last is in
// memory until it is evicted. Any number of merges may read it at the same
// time. Those that are reading the memory when it is evicted are told, and go
// over to the disk when they can; the last one that leaves frees it.
type MapOutput struct {
	stats      []run.PartStat
	codec      Codec
	createTemp func() (*os.File, error)
	notify     func(Event)

	mu struct {
		sync.Mutex
		file     run.File
		segments []run.Segment
		memory   *memoryRun // nil: none, or evicted
		pins     int        // merges that are open
		released bool
		cancel   func()
	}
}

// Parts is the number of partitions.
func (o *MapOutput) Parts() int { return len(o.stats) }

// PartBytes is what partition p holds, exactly, without reading it.
func (o *MapOutput) PartBytes(p int) (records, keyBytes, valueBytes int64) {
	s := o.stats[p]
	return s.Records, s.KeyBytes, s.ValueBytes
}

// MemoryBytes is what the run in memory takes.
func (o *MapOutput) MemoryBytes() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.memory == nil {
		return 0
	}
	return o.mu.memory.lease.Granted()
}

// Register lets b evict what is in memory.
func (o *MapOutput) Register(b *membudget.Budget) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.memory != nil && o.mu.cancel == nil && !o.mu.released {
		o.mu.cancel = b.Register(o)
	}
}

// Evict writes the run in memory to the temporary file. It is freed at once,
// or when the last merge that is reading it has left it.
func (o *MapOutput) Evict() (freedBytes int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	held := o.mu.memory
	if held == nil || o.mu.released {
		return 0, nil
	}
	written, err := o.appendRun(held)
	if err != nil {
		return 0, fmt.Errorf("map output to disk: %w", err)
	}
	o.mu.memory = nil
	held.onDisk = &o.mu.segments[len(o.mu.segments)-1]
	freedBytes = held.lease.Granted()
	for _, told := range held.readers {
		told.Store(true)
	}
	if len(held.readers) == 0 {
		held.lease.Close()
	}
	o.unregister()
	o.notify(written)
	return freedBytes, nil
}

func (o *MapOutput) unregister() {
	if o.mu.cancel != nil {
		o.mu.cancel()
		o.mu.cancel = nil
	}
}

// appendRun writes run as a segment at the end of the file. The memory for it
// is not of the budget, which is short of it; only one evicts at a time.
func (o *MapOutput) appendRun(held *memoryRun) (written Event, err error) {
	w, err := run.NewWriter(make([]byte, membudget.ChunkBytes), o.codec)
	if err != nil {
		return written, err
	}
	defer w.Close()
	file, err := openToAppend(&o.mu.file, o.createTemp)
	if err != nil {
		return written, err
	}
	held.sortParts(0, len(o.stats))
	w.Begin(file, o.mu.file.Bytes, nil)
	run.WriteSorted(w, &held.arena, held.slices, len(o.stats), nil)
	s, end, err := w.End()
	if err := errors.Join(err, file.Close()); err != nil {
		return written, err
	}
	o.mu.file.Bytes = end
	o.mu.segments = append(o.mu.segments, s)
	return Event{Kind: Evict, Bytes: w.TotalBytes, Records: w.TotalRecords}, nil
}

// openToAppend opens the file, or makes it.
func openToAppend(f *run.File, createTemp func() (*os.File, error)) (*os.File, error) {
	if f.Path != "" {
		file, err := os.OpenFile(f.Path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		if _, err := file.Seek(f.Bytes, 0); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return file, nil
	}
	if createTemp == nil {
		return nil, errors.New("there is no temporary directory")
	}
	file, err := createTemp()
	if err != nil {
		return nil, err
	}
	f.Path = file.Name()
	return file, nil
}

// Release frees all memory and removes the file. It may be called again; while
// a merge reads, it takes effect when that has ended.
func (o *MapOutput) Release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.released {
		return
	}
	o.mu.released = true
	o.unregister()
	o.freeLocked()
}

func (o *MapOutput) freeLocked() {
	if !o.mu.released || o.mu.pins > 0 {
		return
	}
	if o.mu.memory != nil {
		o.mu.memory.lease.Close()
		o.mu.memory = nil
	}
	_ = o.mu.file.Remove() // the directory of temporary files goes as a whole in the end
	o.mu.segments = nil
}

var errReleased = errors.New("the map output was released")

// pin keeps the file for a merge until unpin, and the run in memory, if there
// is one, until leave. told is set when that is on disk.
func (o *MapOutput) pin(told *atomic.Bool) (segments []run.Segment, memory *memoryRun, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.released {
		return nil, nil, errReleased
	}
	o.mu.pins++
	if memory = o.mu.memory; memory != nil {
		memory.readers = append(memory.readers, told)
	}
	return o.mu.segments, memory, nil
}

// movedTo is where an evicted run is on disk.
func (o *MapOutput) movedTo(held *memoryRun) (s run.Segment, moved bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if held.onDisk == nil {
		return s, false
	}
	return *held.onDisk, true
}

// leave ends a merge's use of a run in memory.
func (o *MapOutput) leave(held *memoryRun, told *atomic.Bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.Index(held.readers, told)
	held.readers = slices.Delete(held.readers, i, i+1)
	if len(held.readers) == 0 && held.onDisk != nil {
		held.lease.Close()
	}
}

func (o *MapOutput) unpin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.pins--
	o.freeLocked()
}
