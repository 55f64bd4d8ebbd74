package input

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/cespare/xxhash/v2"
)

// Fingerprint tells whether a file is the one that an earlier run has read.
type Fingerprint struct {
	Path       string `json:"input"`
	Bytes      int64  `json:"bytes"`
	ModNanos   int64  `json:"mtime_ns"`
	CtimeNanos int64  `json:"ctime_ns,omitempty"` // of the last change, which no program can set; 0: not known
	Inode      uint64 `json:"inode,omitempty"`
	SampleHash uint64 `json:"sample,omitempty"` // xxHash-64 of some of its bytes; 0: none were read
}

const (
	// mostSampled files of a plan are sampled, evenly. To open a file costs more than
	// all else that a fingerprint needs.
	mostSampled = 1024

	// samplePlaces of a file are read: its start, its end, and some between them.
	samplePlaces     = 4
	samplePlaceBytes = 4 << 10
)

// Fingerprint returns the fingerprint of file i as the plan saw it.
func (p *Plan) Fingerprint(i int) (Fingerprint, error) {
	f := &p.Files[i]
	print := Fingerprint{Path: f.Path, Bytes: f.Bytes, ModNanos: f.id.mtimeNanos, CtimeNanos: f.ctimeNanos, Inode: f.id.ino}
	if step := (len(p.Files) + mostSampled - 1) / mostSampled; !f.kind.regular() || i%step != 0 {
		return print, nil
	}
	var h handle
	if err := p.open(f, &h); err != nil {
		return print, err
	}
	sum, buf := xxhash.New(), make([]byte, samplePlaceBytes)
	var err error
	for place := range int64(samplePlaces) {
		n, readErr := h.ReadAt(buf, max(0, f.Bytes-samplePlaceBytes)/(samplePlaces-1)*place)
		if readErr != nil && readErr != io.EOF {
			err = readErr
		}
		_, _ = sum.Write(buf[:n]) // never fails
	}
	print.SampleHash = sum.Sum64()
	return print, errors.Join(err, h.Close())
}

// Division returns a hash of the splits: plans with the same files and the same hash are
// divided into the same splits.
func (p *Plan) Division() uint64 {
	sum := xxhash.New()
	var room [24]byte
	for i := range p.Splits {
		for _, pc := range p.Splits[i].Pieces {
			binary.LittleEndian.PutUint32(room[:], uint32(i))
			binary.LittleEndian.PutUint32(room[4:], uint32(pc.File))
			binary.LittleEndian.PutUint64(room[8:], uint64(pc.Start))
			binary.LittleEndian.PutUint64(room[16:], uint64(pc.End))
			_, _ = sum.Write(room[:]) // never fails
		}
	}
	return sum.Sum64()
}
