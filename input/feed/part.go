package feed

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"mrlocal/input"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/output"
)

// Part is the part of the output that one task of the job before in a chain has written. The spool
// belongs to the sink of that job (output.Spools).
type Part struct {
	Name  string // of the job before
	File  int32  // its place in the input order
	Spool *output.Spool
	Delim byte // ends a record

	RecordBytes int // of binary records, which have no delimiter; else 0
}

// recordEnd returns the index in data behind the last whole record; 0: there is no whole record.
// data begins with a record.
func (s Part) recordEnd(data []byte) int {
	if s.RecordBytes > 0 {
		return len(data) / s.RecordBytes * s.RecordBytes
	}
	return bytes.LastIndexByte(data, s.Delim) + 1
}

// StoredBytes returns the length of the text.
func (s Part) StoredBytes() int64 { return s.Spool.Bytes() }

// NextAttempt returns the same part.
func (s Part) NextAttempt() (Source, error) { return s, nil }

// Open begins to read.
func (s Part) Open(mem Memory) (Blocks, error) {
	return &partBlocks{src: s, r: s.Spool.NewReader(), mem: mem}, nil
}

// partBlocks divides the text of a part into blocks of whole records. A chunk may end within a
// record. partBlocks copies the beginning of that record to the next chunk before it lends the
// block. A kvbuffer that takes the chunk over may free it at any time.
type partBlocks struct {
	src    Part
	r      *output.SpoolReader
	mem    Memory
	block  jobs.Block       // the current one
	chunk  *membudget.Chunk // of block
	loan   membudget.Loan   // of chunk
	ahead  *membudget.Chunk // of the next block
	carry  int              // bytes of ahead that are read already
	offset int64            // of the next block in the part
	eof    bool             // the last read has reached the end of the part
	seen   bool             // there was a block
	err    error
}

// Next moves to the next block. Close returns the error that ended the reading.
func (b *partBlocks) Next() bool {
	var more bool
	if b.err == nil {
		more, b.err = b.next()
	}
	return more && b.err == nil
}

func (b *partBlocks) Block() input.LentBlock {
	return input.LentBlock{Block: b.block, Loan: &b.loan, ConsumedBytes: b.offset}
}

// next moves to the next block. It gives back the chunk of the current one, unless the kvbuffer
// has taken it over.
func (b *partBlocks) next() (more bool, err error) {
	if b.chunk != nil && !b.loan.Taken() {
		b.mem.Put(b.chunk)
	}
	b.chunk, b.loan = nil, membudget.Loan{}
	if err := b.room(membudget.ChunkBytes); err != nil {
		return false, err
	}
	if r := int64(b.src.RecordBytes); r > 0 && b.src.Spool.Bytes()%r != 0 {
		return false, fmt.Errorf("%s: %d bytes are no whole number of records of %d bytes", b.src.Name, b.src.Spool.Bytes(), r)
	}
	for {
		n, err := b.fill()
		// An empty part is one block without data, as an empty file is.
		if err != nil || n == 0 && b.seen {
			return false, err
		}
		b.seen = true
		cut := b.src.recordEnd(b.ahead.Data[:n])
		if b.eof {
			cut = n // the last record may lack its delimiter
		}
		b.carry = n
		if cut > 0 || b.eof {
			return true, b.handOut(cut, n)
		}
		if err := b.roomForRecord(n); err != nil {
			return false, err
		}
	}
}

// handOut makes the first cut bytes of ahead the current block. It copies the bytes from cut to n
// to the next chunk.
func (b *partBlocks) handOut(cut, n int) error {
	b.chunk, b.ahead, b.carry = b.ahead, nil, 0
	if n > cut {
		if err := b.room(max(membudget.ChunkBytes, n-cut)); err != nil {
			return err
		}
		b.carry = copy(b.ahead.Data, b.chunk.Data[cut:n])
	}
	b.block = jobs.Block{Path: b.src.Name, File: b.src.File, Offset: b.offset, Data: b.chunk.Data[:cut], Last: b.offset+int64(cut) == b.src.Spool.Bytes()}
	b.loan = membudget.Loan{Chunk: b.chunk}
	b.offset += int64(cut)
	return nil
}

// room makes ahead a chunk of at least n bytes, and keeps its first carry bytes.
func (b *partBlocks) room(n int) error {
	if b.ahead != nil && len(b.ahead.Data) >= n {
		return nil
	}
	c, err := b.mem.Get(n)
	if err != nil {
		return err
	}
	if b.ahead != nil {
		copy(c.Data, b.ahead.Data[:b.carry])
		b.mem.Put(b.ahead)
	}
	b.ahead = c
	return nil
}

// roomForRecord makes ahead as large as the record that begins at offset and is longer than
// knownBytes. It first scans the spool for the end of the record, so that it asks for memory only
// once. fill then reads the record from its start.
func (b *partBlocks) roomForRecord(knownBytes int) error {
	scan := make([]byte, 32<<10)
	size := int64(knownBytes)
	for {
		n, err := b.r.ReadAt(scan, b.offset+size)
		if i := bytes.IndexByte(scan[:n], b.src.Delim); i >= 0 {
			size += int64(i) + 1
			break
		}
		size += int64(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	b.mem.Put(b.ahead)
	b.ahead, b.carry = nil, 0
	return b.room(int(size) + 1) // with one byte more, fill notices the end of the part behind its last record
}

// fill reads until ahead is full or the part ends. It returns the number of bytes in ahead.
func (b *partBlocks) fill() (n int, err error) {
	n = b.carry
	for n < len(b.ahead.Data) && !b.eof {
		k, err := b.r.ReadAt(b.ahead.Data[n:], b.offset+int64(n))
		n += k
		if errors.Is(err, io.EOF) {
			b.eof = true
		} else if err != nil {
			return n, err
		}
	}
	return n, nil
}

func (b *partBlocks) Close() error {
	b.r.Close()
	return b.err
}
