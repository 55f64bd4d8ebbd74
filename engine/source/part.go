package source

import (
	"bytes"
	"errors"
	"io"

	"mrlocal/input"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/output/spool"
)

// Part is the text that a reduce of the job before in a chain has written.
type Part struct {
	Name  string // in messages
	File  int32  // its place in the input order
	Spool *spool.Spool
	Delim byte

	RecordBytes int // of binary records, which have no delimiter; else 0
}

// recordEnd returns the last place in data at which a record ends; 0: none does. data begins
// with a record.
func (s Part) recordEnd(data []byte) int {
	if s.RecordBytes > 0 {
		return len(data) / s.RecordBytes * s.RecordBytes
	}
	return bytes.LastIndexByte(data, s.Delim) + 1
}

// StoredBytes returns the length of the text.
func (s Part) StoredBytes() int64 { return s.Spool.Bytes() }

// Again returns the same part.
func (s Part) Again() (Source, error) { return s, nil }

// Open begins to read.
func (s Part) Open(mem Memory) (Blocks, error) {
	return &partBlocks{src: s, r: s.Spool.NewReader(), mem: mem}, nil
}

// partBlocks cuts the text of a part into blocks of whole records. It copies the
// beginning of a record behind a block to the next chunk before it lends the
// block. A kvbuffer that takes the chunk over may free it at any time.
type partBlocks struct {
	src    Part
	r      *spool.Reader
	mem    Memory
	block  jobs.Block       // at hand
	chunk  *membudget.Chunk // of block
	loan   membudget.Loan   // of chunk
	ahead  *membudget.Chunk // of the next block; its first carry bytes are read
	carry  int
	offset int64
	eof    bool
	err    error
}

// Next moves to the next block. The chunk of the last one is free again, unless the mapper
// took it over.
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

// next moves to the next block. The chunk of the last one goes back to the lease,
// unless the kvbuffer has taken it over.
func (b *partBlocks) next() (more bool, err error) {
	if b.chunk != nil && !b.loan.Taken() {
		b.mem.Put(b.chunk)
	}
	b.chunk, b.loan = nil, membudget.Loan{}
	if err := b.room(membudget.ChunkBytes); err != nil {
		return false, err
	}
	for {
		n, err := b.fill()
		if err != nil || n == 0 {
			return false, err
		}
		cut := b.src.recordEnd(b.ahead.Data[:n])
		if b.eof {
			cut = n
		}
		b.carry = n
		if cut > 0 {
			return true, b.handOut(cut, n)
		}
		if err := b.roomForRecord(n); err != nil {
			return false, err
		}
	}
}

// handOut makes the first cut bytes of ahead the block at hand. The bytes from cut
// to n move to the next chunk.
func (b *partBlocks) handOut(cut, n int) error {
	b.chunk, b.ahead, b.carry = b.ahead, nil, 0
	if n > cut {
		if err := b.room(max(membudget.ChunkBytes, n-cut)); err != nil {
			return err
		}
		b.carry = copy(b.ahead.Data, b.chunk.Data[cut:n])
	}
	b.block = jobs.Block{Path: b.src.Name, File: b.src.File, Offset: b.offset, Data: b.chunk.Data[:cut], Last: b.eof}
	b.loan = membudget.Loan{Chunk: b.chunk}
	b.offset += int64(cut)
	return nil
}

// room makes ahead hold at least n bytes, and keeps what it carries.
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

// roomForRecord makes ahead as large as the record that begins at offset and is
// longer than knownBytes. It scans the record to its end first, so that it gets
// the chunk once. What ahead carries is read again.
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
	return b.room(int(size) + 1) // one byte more, so that the end of the part is seen behind its last record
}

// fill reads until ahead is full or the part ends. It returns how many bytes ahead
// then holds.
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
