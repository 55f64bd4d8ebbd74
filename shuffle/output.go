package shuffle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"mrlocal/internal/disk"
	"mrlocal/internal/membudget"
	"mrlocal/shuffle/record"
)

// EventKind says what happened to a kvbuffer, a map output or a merge.
type EventKind uint8

const (
	Begin      EventKind = iota // Bytes: the capacity of the kvbuffer, ToBytes: its spill mark
	Grow                        // Bytes: the capacity before, ToBytes: the new one
	Refuse                      // Bytes: the capacity of the refused growth, ToBytes: free memory for each map
	SpillStart                  // Bytes, Records: collected
	SpillEnd                    // Bytes, Records: written
	Evict                       // Bytes, Records: written
	MergePass                   // Runs: read by an intermediate pass, Bytes: written
)

// Event is one event of a kvbuffer, a map output or a merge. EventKind says what the numbers
// mean.
type Event struct {
	Kind           EventKind
	Bytes, Records int64
	ToBytes        int64
	Runs           int
}

// MemoryRun is the run in memory of a map output: the records that the map attempt collected
// last. MapOutput.Keep makes it part of an output. Afterwards its bytes never change, so merges
// read them without a lock. Only the order and the prefixes of its entries may change, once (sortParts).
type MemoryRun struct {
	Arena  record.Arena
	Slices []record.Slice   // in the order in which their records were collected
	Lease  *membudget.Lease // of the chunks of Arena and Slices, and of nothing else

	Unsorted *record.Unsorted // nil: each slice is sorted by partition and key
	InTable  bool             // the entries refer to slots of a hash table

	// The lock of the MapOutput guards these fields.
	readers []*atomic.Bool // the evicted flag of each merge that reads the run
	onDisk  *segment       // nil: not evicted
}

// MapOutput is the output of one map attempt: sorted runs, in the order in which their records
// were collected. All but the last are segments of one temporary file. The last one is in
// memory until it is evicted.
//
// Any number of merges may read a MapOutput at the same time. An eviction sets the evicted flag
// of each merge that reads the run in memory. Such a merge changes over to the disk at its next
// step that allows that. When the last one has changed over, the memory is freed.
//
// Any goroutine may call the methods. They wait while an eviction writes the run, because Evict
// holds mu.
type MapOutput struct {
	// stats is by partition. It is complete before the output is shared, and never changes
	// afterwards.
	stats      []record.PartStat
	codec      Codec
	createTemp func() (*disk.TempFile, error)
	notify     func(Event)

	mu struct {
		sync.Mutex
		file     tempFile
		segments []segment
		memory   *MemoryRun // nil: none, or evicted
		pins     int        // merges that are open
		// Set by Release. Memory and file stay until pins is 0.
		released bool
		cancel   func() // ends the registration as evictable; nil: not registered
	}
}

// NewMapOutput makes an output of parts partitions without any run. createTemp makes its
// temporary file when the first segment is written. If createTemp is nil, writing a segment
// fails. notify is called after each eviction.
func NewMapOutput(parts int, codec Codec, createTemp func() (*disk.TempFile, error), notify func(Event)) *MapOutput {
	o := &MapOutput{stats: make([]record.PartStat, parts), codec: codec, createTemp: createTemp, notify: notify}
	o.mu.file.owner = o
	return o
}

// AppendSegment writes the next run to the temporary file. write adds the records of each
// partition to w, and calls w.EndPart for each. After an error the segment is not part of the
// output.
func (o *MapOutput) AppendSegment(w *Writer, write func(w *Writer) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.appendLocked(w, o.stats, write)
}

// appendLocked writes a segment and adds it to the list. The caller holds o.mu.
func (o *MapOutput) appendLocked(w *Writer, stats []record.PartStat, write func(w *Writer) error) error {
	s, err := o.mu.file.appendSegment(w, o.createTemp, stats, write)
	if err == nil {
		o.mu.segments = append(o.mu.segments, s)
	}
	return err
}

// Keep makes m the last run. stats has the counts of m for each partition. The MapOutput owns m
// and its lease from then on.
func (o *MapOutput) Keep(m *MemoryRun, stats []record.PartStat) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.memory = m
	for p := range stats {
		o.stats[p].Add(stats[p])
	}
}

// Parts returns the number of partitions.
func (o *MapOutput) Parts() int { return len(o.stats) }

// Part returns what partition p holds. It reads no data. The numbers are final after the last run
// was added.
func (o *MapOutput) Part(p int) record.PartStat { return o.stats[p] }

// OnDisk reports whether at least one run is a segment on disk.
func (o *MapOutput) OnDisk() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.mu.segments) > 0
}

// MemoryBytes returns the bytes that the run in memory takes; 0 if there is none.
func (o *MapOutput) MemoryBytes() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.memory == nil {
		return 0
	}
	return o.mu.memory.Lease.Granted()
}

// Register allows b to evict the run in memory, until it is evicted or released.
func (o *MapOutput) Register(b *membudget.Budget) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.memory != nil && o.mu.cancel == nil && !o.mu.released {
		o.mu.cancel = b.Register(o)
	}
}

// Evict writes the run in memory to the temporary file. It returns the number of bytes that
// this frees. They are free at once, or when the last merge that reads the run has changed
// over to the disk. It returns 0 if there is nothing to evict. If writing fails, the run stays
// in memory.
func (o *MapOutput) Evict() (freedBytes int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	held := o.mu.memory
	if held == nil || o.mu.released {
		return 0, nil
	}
	written, err := o.evictLocked(held)
	if err != nil {
		return 0, err
	}
	o.mu.memory = nil
	held.onDisk = &o.mu.segments[len(o.mu.segments)-1]
	freedBytes = held.Lease.Granted()
	// onDisk is set before the flags, because a merge that sees its flag looks for the segment
	// (movedTo).
	for _, evicted := range held.readers {
		evicted.Store(true)
	}
	if len(held.readers) == 0 {
		held.Lease.Close()
	}
	o.unregister()
	o.notify(written)
	return freedBytes, nil
}

// evictLocked appends held to the file. It takes the memory of the writer from the Go heap,
// because the budget has none to give. The budget evicts one output at a time, so this is at
// most one chunk.
func (o *MapOutput) evictLocked(held *MemoryRun) (written Event, err error) {
	w, err := NewWriter(make([]byte, membudget.ChunkBytes), o.codec)
	if err != nil {
		return written, err
	}
	defer w.Close()
	held.sortParts(0, len(o.stats))
	err = o.appendLocked(w, nil, func(w *Writer) error {
		return WriteSorted(w, &held.Arena, held.Slices, len(o.stats), nil)
	})
	return Event{Kind: Evict, Bytes: w.TotalBytes, Records: w.TotalRecords}, err
}

// unregister ends Register. The caller holds o.mu.
func (o *MapOutput) unregister() {
	if o.mu.cancel != nil {
		o.mu.cancel()
		o.mu.cancel = nil
	}
}

// Release frees all memory and removes the file, as soon as no merge reads them any more. It
// does not wait for that. It may be called again.
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

// freeLocked frees memory and file if Release was called and no merge is open. The caller holds
// o.mu.
func (o *MapOutput) freeLocked() {
	if !o.mu.released || o.mu.pins > 0 {
		return
	}
	if o.mu.memory != nil {
		o.mu.memory.Lease.Close()
		o.mu.memory = nil
	}
	_ = o.mu.file.remove() // a file that stays is removed with the directory of temporary files
	o.mu.segments = nil
}

// pin keeps the file for a merge until unpin, and the run in memory, if there is one, until
// leave. An eviction sets evicted after the run is on disk. The returned segments are shared
// and must not be changed. pin fails if the output was released.
func (o *MapOutput) pin(evicted *atomic.Bool) (segments []segment, memory *MemoryRun, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.released {
		return nil, nil, errClosed
	}
	o.mu.pins++
	if memory = o.mu.memory; memory != nil {
		memory.readers = append(memory.readers, evicted)
	}
	return o.mu.segments, memory, nil
}

// movedTo returns the segment to which held was evicted, and false if it is still in memory.
// The caller has pinned held.
func (o *MapOutput) movedTo(held *MemoryRun) (s segment, moved bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if held.onDisk == nil {
		return s, false
	}
	return *held.onDisk, true
}

// leave ends the use of held by the merge whose flag is evicted. The last merge that leaves an
// evicted run frees its memory.
func (o *MapOutput) leave(held *MemoryRun, evicted *atomic.Bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.Index(held.readers, evicted)
	held.readers = slices.Delete(held.readers, i, i+1)
	if len(held.readers) == 0 && held.onDisk != nil {
		held.Lease.Close()
	}
}

// unpin ends what pin began.
func (o *MapOutput) unpin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.pins--
	o.freeLocked()
}

// Stored describes a map output that lies on disk as a whole, so that a later run can read it
// (Restore). The journal keeps it as JSON.
type Stored struct {
	Path     string            `json:"-"`        // of the file; "": the output has no records
	Bytes    int64             `json:"bytes"`    // of the file
	Segments []int64           `json:"segments"` // offsets of their indexes in the file
	Parts    []record.PartStat `json:"parts"`    // what each partition holds
}

// Store calls keep with the description of the output. If keep succeeds, Release leaves the
// file. Store fails if keep fails, if a run is in memory, or if the output was released. It
// does not sync the file.
func (o *MapOutput) Store(keep func(Stored) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.memory != nil || o.mu.released {
		return errors.New("map output: it is not on disk")
	}
	s := Stored{Path: o.mu.file.name(), Bytes: o.mu.file.bytes, Segments: make([]int64, len(o.mu.segments)), Parts: o.stats}
	for i := range o.mu.segments {
		s.Segments[i] = o.mu.segments[i].index
	}
	if err := keep(s); err != nil {
		return err
	}
	o.mu.file.kept = true
	return nil
}

// Restore returns the output that an earlier run has stored. parts is the number of partitions
// of the job. Restore fails if the file is too short, or if the index of a segment is damaged
// or does not agree with s. It does not check the blocks; a merge checks them when it reads
// them. Release leaves the file.
func Restore(s Stored, parts int) (*MapOutput, error) {
	if len(s.Parts) != parts {
		return nil, fmt.Errorf("map output: %d partitions, want %d", len(s.Parts), parts)
	}
	// Each block names its codec, so the codec of the output does not matter for reading.
	o := NewMapOutput(parts, None, nil, nil)
	copy(o.stats, s.Parts)
	if s.Path == "" {
		return o, nil
	}
	o.mu.file.path = s.Path
	o.mu.file.bytes = s.Bytes
	o.mu.file.kept = true
	file, err := disk.OpenRead(s.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() < s.Bytes { // the file may be longer: a segment that was not completed may follow
		return nil, o.mu.file.corrupt(info.Size(), errShort)
	}
	records := make([]int64, parts)
	for _, at := range s.Segments {
		if err := checkIndex(file, at, records); err != nil {
			return nil, o.mu.file.corrupt(at, err)
		}
		o.mu.segments = append(o.mu.segments, segment{index: at})
	}
	for p := range records {
		if records[p] != s.Parts[p].Records {
			return nil, o.mu.file.corrupt(0, errChecksum)
		}
	}
	return o, nil
}

// checkIndex reads the index and the footer of a segment, and adds the records of each
// partition to records.
func checkIndex(file io.ReaderAt, at int64, records []int64) error {
	tail := make([]byte, len(records)*indexBytes+footerBytes)
	if err := readFull(file, tail, at); err != nil {
		return err
	}
	for p := range records {
		e, err := parseIndexEntry(tail[p*indexBytes:])
		if err != nil {
			return err
		}
		records[p] += e.records
	}
	footer := tail[len(records)*indexBytes:]
	if string(footer[24:]) != segmentMagic || crc32.Checksum(footer[:16], castagnoli) != binary.LittleEndian.Uint32(footer[16:]) ||
		int64(binary.LittleEndian.Uint64(footer)) != at || binary.LittleEndian.Uint64(footer[8:]) != uint64(len(records)) {
		return errFormat
	}
	return nil
}
