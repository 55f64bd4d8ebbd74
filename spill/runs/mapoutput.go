package runs

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
	"mrlocal/spill/record"
)

// EventKind says what happened to a kvbuffer, a map output or a merge.
type EventKind uint8

const (
	Begin      EventKind = iota // Bytes: the capacity of the kvbuffer, ToBytes: its spill mark
	Grow                        // Bytes: the capacity before, ToBytes: the new one
	Refuse                      // Bytes: the capacity that the growth rule asked for, ToBytes: free memory for each map
	SpillStart                  // Bytes, Records: collected
	SpillEnd                    // Bytes, Records: written
	Evict                       // Bytes, Records: written
	MergePass                   // Bytes, Records: written by an intermediate pass
)

// Event is one event of a kvbuffer, a map output or a merge.
// What the numbers mean depends on the kind.
type Event struct {
	Kind           EventKind
	Bytes, Records int64
	ToBytes        int64
}

// MemoryRun is the run that a map attempt collected last, still in memory.
// MapOutput.Keep takes it over.
// Its bytes never change after Keep, so merges read them without a lock. Only the order
// of its entries may change, once (sortParts).
type MemoryRun struct {
	Arena  record.Arena
	Slices []record.Slice   // in the order in which their records were collected
	Lease  *membudget.Lease // of all chunks that arena and slices lie in, and of nothing else

	Unsorted *record.Unsorted // nil: each slice is sorted by partition and key
	InTable  bool             // the entries stand for slots of a table

	// Under the lock of the MapOutput.
	readers []*atomic.Bool // the evicted flag of each merge that reads the run
	onDisk  *segment       // nil: not evicted
}

// MapOutput is what one map attempt made: sorted runs, in the order in which
// their records were collected. All but the last are segments of one temporary
// file. The last one is in memory until it is evicted.
//
// Any number of merges may read a MapOutput at the same time. An eviction sets
// the evicted flag of each merge that reads the memory. Such a merge goes over
// to the disk when it can. The last one that leaves frees the memory. The
// methods may be called from any goroutine. mu is held during an eviction, so
// calls wait until the run is written.
type MapOutput struct {
	// By partition; complete before the output is shared, and only read from then on.
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

// NewMapOutput makes an output of parts partitions without any run. createTemp
// makes its temporary file when the first segment is written; nil fails then.
// notify is called after each eviction.
// The file needs to know its owner for CorruptError.
func NewMapOutput(parts int, codec Codec, createTemp func() (*disk.TempFile, error), notify func(Event)) *MapOutput {
	o := &MapOutput{stats: make([]record.PartStat, parts), codec: codec, createTemp: createTemp, notify: notify}
	o.mu.file.owner = o
	return o
}

// AppendSegment writes the next run, to the temporary file: write adds the
// records of each partition to w and ends it.
func (o *MapOutput) AppendSegment(w *Writer, write func(w *Writer) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.appendLocked(w, o.stats, write)
}

// appendLocked writes a segment and adds it to the list. o.mu is held.
func (o *MapOutput) appendLocked(w *Writer, stats []record.PartStat, write func(w *Writer) error) error {
	s, err := o.mu.file.appendSegment(w, o.createTemp, stats, write)
	if err == nil {
		o.mu.segments = append(o.mu.segments, s)
	}
	return err
}

// Keep makes m the last run. stats counts what m holds of each partition. The
// MapOutput owns m and its lease from then on.
func (o *MapOutput) Keep(m *MemoryRun, stats []record.PartStat) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.memory = m
	for p := range stats {
		o.stats[p].Add(stats[p])
	}
}

// Parts is the number of partitions.
func (o *MapOutput) Parts() int { return len(o.stats) }

// PartBytes returns exactly what partition p holds, without reading it.
// The counts are final once the attempt has handed over its last run.
func (o *MapOutput) PartBytes(p int) (records, keyBytes, valueBytes int64) {
	s := o.stats[p]
	return s.Records, s.KeyBytes, s.ValueBytes
}

// OnDisk reports whether at least one run is a segment on disk.
func (o *MapOutput) OnDisk() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.mu.segments) > 0
}

// MemoryBytes is what the run in memory takes, 0 if there is none.
func (o *MapOutput) MemoryBytes() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.memory == nil {
		return 0
	}
	return o.mu.memory.Lease.Granted()
}

// Register lets b evict the run in memory, until it is evicted or released.
func (o *MapOutput) Register(b *membudget.Budget) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.memory != nil && o.mu.cancel == nil && !o.mu.released {
		o.mu.cancel = b.Register(o)
	}
}

// Evict writes the run in memory to the temporary file and returns how many
// bytes that frees: at once, or when the last merge that reads them has left
// them.
func (o *MapOutput) Evict() (freedBytes int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	held := o.mu.memory
	if held == nil || o.mu.released {
		return 0, nil
	}
	// If writing fails, the run stays in memory and nothing is lost.
	written, err := o.evictLocked(held)
	if err != nil {
		return 0, err
	}
	o.mu.memory = nil
	held.onDisk = &o.mu.segments[len(o.mu.segments)-1]
	freedBytes = held.Lease.Granted()
	// The flags come after the segment is known, because merges look for it then
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

// evictLocked appends held to the file. The chunk of the writer is not of the
// budget, because the budget has none to give; only one output is evicted at a
// time.
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

// unregister takes the output off the list of what the budget may evict. o.mu is held.
func (o *MapOutput) unregister() {
	if o.mu.cancel != nil {
		o.mu.cancel()
		o.mu.cancel = nil
	}
}

// Release frees all memory and removes the file, as soon as no merge reads them
// any more. It may be called again.
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

// freeLocked frees memory and file if Release was called and no merge is open. o.mu is
// held.
func (o *MapOutput) freeLocked() {
	if !o.mu.released || o.mu.pins > 0 {
		return
	}
	if o.mu.memory != nil {
		o.mu.memory.Lease.Close()
		o.mu.memory = nil
	}
	_ = o.mu.file.remove() // the directory of temporary files is removed as a whole in the end
	o.mu.segments = nil
}

// errReleased says that a merge was opened too late.
var errReleased = errors.New("the map output was released")

// pin keeps the file for a merge until unpin, and the run in memory, if there
// is one, until leave. evicted is set when that run is on disk.
// The slice of segments is shared and must not be changed. Later segments do not show
// in it.
func (o *MapOutput) pin(evicted *atomic.Bool) (segments []segment, memory *MemoryRun, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.released {
		return nil, nil, errReleased
	}
	o.mu.pins++
	if memory = o.mu.memory; memory != nil {
		memory.readers = append(memory.readers, evicted)
	}
	return o.mu.segments, memory, nil
}

// movedTo returns where on disk held is, if it was evicted.
// held must be pinned by the caller.
func (o *MapOutput) movedTo(held *MemoryRun) (s segment, moved bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if held.onDisk == nil {
		return s, false
	}
	return *held.onDisk, true
}

// leave ends the use of held by the merge whose flag is evicted.
// The last merge that leaves an evicted run frees its memory.
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
// (Restore).
type Stored struct {
	Path     string            `json:"-"`     // of the file; "": the output has no record
	Bytes    int64             `json:"bytes"` // of the file
	Segments []int64           `json:"segments"`
	Parts    []record.PartStat `json:"parts"` // what each partition holds
}

// Store calls keep with the description of an output without a run in memory. If keep succeeds,
// Release leaves the file. Nothing is synced.
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

// Restore returns the output that a killed run has stored. It checks the length of the file and
// the index of each segment; a merge checks the blocks when it reads them. parts is how many
// partitions the job has. Release leaves the file.
func Restore(s Stored, parts int) (*MapOutput, error) {
	if len(s.Parts) != parts {
		return nil, fmt.Errorf("map output: %d partitions, want %d", len(s.Parts), parts)
	}
	// Blocks name their own codec, so the one of the output does not matter for reading.
	o := NewMapOutput(parts, None, nil, nil)
	copy(o.stats, s.Parts)
	if s.Path == "" {
		return o, nil
	}
	o.mu.file.path, o.mu.file.bytes, o.mu.file.kept = s.Path, s.Bytes, true
	file, err := disk.OpenRead(s.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() < s.Bytes { // a failed segment may follow the whole ones
		return nil, o.mu.file.corrupt(info.Size(), io.ErrUnexpectedEOF)
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
