package runs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"mrlocal/internal/disk"
	"mrlocal/spill/record"
)

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
