package run

import (
	"context"
	"encoding/binary"
	"fmt"

	"mrlocal/internal/membudget"
)

// Readers is what the disk cursors of one merge share: open files, the
// memory that compressed blocks pass through, and two blocks' room for keys
// that are longer than a block and have to be compared piece by piece.
type Readers struct {
	Ctx     context.Context
	Lease   *membudget.Lease
	Files   OpenFiles
	Staging []byte
	pieces  [2][]byte
	Decoder decompressor
	Err     error // sticky: reading for a comparison went wrong
}

func (r *Readers) UseMemory(p []byte) {
	r.Staging = p[:BufferBytes:BufferBytes]
	r.pieces[0] = p[BufferBytes : 2*BufferBytes : 2*BufferBytes]
	r.pieces[1] = p[2*BufferBytes : 3*BufferBytes : 3*BufferBytes]
}

// DiskCursor reads one partition of one segment, block by block.
//
// A large record is not read whole when the cursor reaches it: key holds as
// much of the key as lies in the first block, and load brings the rest, into
// memory of its own that is gone with the next record. So a merge of many
// giants holds one of them.
type DiskCursor struct {
	Shared *Readers
	File   *File
	At     int64 // of the header that comes next
	End    int64
	head   header // of the block at at, where known
	known  bool
	headAs [headerBytes]byte // as it stands on disk

	Buf  []byte
	pos  int
	size int
	left int // records of the block not read yet

	key, value           []byte
	keyBytes, valueBytes int  // their whole lengths
	same                 bool // key is that of the record before
	large                bool // key and value are only what the first block holds
	loaded               bool // they were made whole, in big or what was big
	big                  *membudget.Chunk
}

// readHead makes d.head the header at d.at.
func (d *DiskCursor) readHead() error {
	if d.known {
		return nil
	}
	file, err := d.Shared.Files.Get(d.File)
	if err != nil {
		return err
	}
	if err := readFull(file, d.headAs[:], d.At); err != nil {
		return d.File.Corrupt(d.At, err)
	}
	return d.parseHead()
}

func (d *DiskCursor) parseHead() (err error) {
	if d.head, err = parseHeader(d.headAs[:]); err != nil {
		return d.File.Corrupt(d.At, err)
	}
	d.known = true
	return nil
}

// readBlock reads the block at d.at into dst and moves on behind it.
func (d *DiskCursor) readBlock(dst []byte) (h header, err error) {
	if err := d.readHead(); err != nil {
		return h, err
	}
	h = d.head
	into := d.Shared.Staging
	if h.codec == None {
		into = dst
	}
	next := d.At + headerBytes + int64(h.storedBytes)
	want := h.storedBytes
	if next+headerBytes <= d.End {
		want += headerBytes
	}
	file, err := d.Shared.Files.Get(d.File)
	if err != nil {
		return h, err
	}
	if next > d.End {
		return h, d.File.Corrupt(d.At, errFormat)
	}
	if err := readFull(file, into[:want], d.At+headerBytes); err != nil {
		return h, d.File.Corrupt(d.At, err)
	}
	if checksum(d.headAs[:], into[:h.storedBytes]) != h.sum {
		return h, d.File.Corrupt(d.At, errChecksum)
	}
	if h.codec != None {
		if err := d.Shared.Decoder.unpack(dst, into[:h.storedBytes], h); err != nil {
			return h, d.File.Corrupt(d.At, err)
		}
	}
	d.At, d.known = next, false
	if want > h.storedBytes {
		copy(d.headAs[:], into[h.storedBytes:want])
		return h, d.parseHead()
	}
	return h, nil
}

// next moves to the next record and reports false at the end.
//
// hot: once a record read back.
func (d *DiskCursor) next() (bool, error) {
	if d.left == 0 || d.large {
		if ok, err := d.nextBlock(); !ok || err != nil {
			return false, err
		}
	}
	d.left--
	p := d.Buf[d.pos:d.size]
	if len(p) > 1 && p[0] == 0 && p[1] < 0x80 && d.key != nil { // the same key, a short value
		v := int(p[1])
		if 2+v > len(p) {
			return false, d.File.Corrupt(d.At, errFormat)
		}
		d.value, d.same, d.valueBytes = p[2:2+v:2+v], true, v
		d.pos += 2 + v
		return true, nil
	}
	if len(p) > 2 && p[0] < 0x80 && p[1] < 0x80 && p[0] != 0 { // short key, short value
		k, v := int(p[0])-1, int(p[1])
		if 2+k+v > len(p) {
			return false, d.File.Corrupt(d.At, errFormat)
		}
		d.key, d.value, d.same = p[2:2+k:2+k], p[2+k:2+k+v:2+k+v], false
		d.keyBytes, d.valueBytes = k, v
		d.pos += 2 + k + v
		return true, nil
	}
	return d.nextSlow(p)
}

func (d *DiskCursor) nextSlow(p []byte) (bool, error) {
	k, n := binary.Uvarint(p)
	v, m := binary.Uvarint(p[max(n, 0):])
	if n <= 0 || m <= 0 || v > 1<<32 || k > 1<<32 {
		return false, d.File.Corrupt(d.At, errFormat)
	}
	p = p[n+m:]
	d.same = k == 0
	if !d.same {
		d.keyBytes = int(k) - 1
	}
	d.valueBytes = int(v)
	need := d.valueBytes
	if !d.same {
		need += d.keyBytes
	}
	switch {
	case d.large:
		d.key = p[:min(d.keyBytes, len(p))]
		d.value = p[len(d.key):min(len(p), need)]
		d.pos = d.size
		return true, nil
	case need > len(p) || d.same && d.key == nil:
		return false, d.File.Corrupt(d.At, errFormat)
	case !d.same:
		d.key = p[:d.keyBytes:d.keyBytes]
		p = p[d.keyBytes:]
	}
	d.value = p[:d.valueBytes:d.valueBytes]
	d.pos = d.size - len(p) + d.valueBytes
	return true, nil
}

// nextBlock reads the next block that records begin in.
func (d *DiskCursor) nextBlock() (bool, error) {
	d.Drop()
	d.key, d.large, d.loaded = nil, false, false
	for {
		if d.At >= d.End {
			return false, nil
		}
		if err := d.readHead(); err != nil {
			return false, err
		}
		if d.head.flags != flagContinued {
			break
		}
		d.At += headerBytes + int64(d.head.storedBytes)
		d.known = false
	}
	h, err := d.readBlock(d.Buf)
	if err != nil {
		return false, err
	}
	if h.records < 1 || h.flags == flagLarge && h.records != 1 {
		return false, d.File.Corrupt(d.At, errFormat)
	}
	d.pos, d.size, d.left, d.large = 0, h.rawBytes, h.records, h.flags == flagLarge
	return true, nil
}

// load makes key (when wanted) and value of a large record whole.
func (d *DiskCursor) load(wantKey bool) error {
	if !d.large || d.loaded {
		return nil
	}
	skip, size := d.keyBytes, d.valueBytes
	if wantKey {
		skip, size = 0, d.keyBytes+d.valueBytes
	}
	big, err := demandBig(d.Shared.Ctx, d.Shared.Lease, int64(size))
	if err != nil {
		return fmt.Errorf("merge: a record of %d bytes: %w", d.keyBytes+d.valueBytes, err)
	}
	d.big, d.loaded = big, true
	to := big.Data
	take := func(p []byte) {
		n := min(skip, len(p))
		skip -= n
		to = to[copy(to, p[n:]):]
	}
	take(d.key)
	take(d.value)
	for rest := d.keyBytes + d.valueBytes - len(d.key) - len(d.value); rest > 0; {
		h, err := d.readBlock(d.Buf)
		if err != nil {
			return err
		}
		if h.flags != flagContinued || h.rawBytes == 0 || h.rawBytes > rest {
			return d.File.Corrupt(d.At, errFormat)
		}
		take(d.Buf[:h.rawBytes])
		rest -= h.rawBytes
	}
	if wantKey {
		d.key = big.Data[:d.keyBytes:d.keyBytes]
	}
	d.value = big.Data[size-d.valueBytes : size : size]
	return nil
}

// Drop frees the memory of a large record.
func (d *DiskCursor) Drop() {
	if d.big != nil {
		freeBig(d.Shared.Lease, d.big)
		d.big = nil
	}
}

// demandBig takes contiguous memory, beyond what is granted where it must.
func demandBig(ctx context.Context, l *membudget.Lease, bytes int64) (*membudget.Chunk, error) {
	if c, ok := l.Big(bytes); ok {
		return c, nil
	}
	charged := bytes + membudget.ChunkBytes/64
	more := charged - l.Available()
	if !l.Grow(more) {
		if err := l.Demand(ctx, more); err != nil {
			return nil, err
		}
	}
	if c, ok := l.Big(bytes); ok {
		return c, nil
	}
	l.Shrink(more)
	return nil, membudget.ErrNoRoom
}

// freeBig gives the memory and what was granted for it back.
func freeBig(l *membudget.Lease, c *membudget.Chunk) {
	bytes := int64(len(c.Data))
	l.Free(c)
	l.Shrink(bytes)
}

// keyPieces reads a key that may be longer than what its cursor holds.
type keyPieces struct {
	d     DiskCursor // a copy: reads ahead of the original
	room  []byte
	first bool
	rest  int
}

func (d *DiskCursor) keyPieces(room []byte) keyPieces {
	return keyPieces{d: *d, room: room, first: true, rest: d.keyBytes}
}

// next is the next piece of the key, nil at its end.
func (k *keyPieces) next() ([]byte, error) {
	if k.first {
		k.first = false
		k.rest -= len(k.d.key)
		if len(k.d.key) > 0 {
			return k.d.key, nil
		}
	}
	if k.rest == 0 {
		return nil, nil
	}
	h, err := k.d.readBlock(k.room)
	if err != nil {
		return nil, err
	}
	n := min(k.rest, h.rawBytes)
	if h.flags != flagContinued || n == 0 {
		return nil, k.d.File.Corrupt(k.d.At, errFormat)
	}
	k.rest -= n
	return k.room[:n], nil
}

// Skip moves behind the first n records, passing over whole blocks by their
// headers.
func (d *DiskCursor) Skip(n int64) error {
	for n > 0 {
		if d.At >= d.End {
			return d.File.Corrupt(d.At, errFormat)
		}
		if err := d.readHead(); err != nil {
			return err
		}
		if int64(d.head.records) > n {
			break
		}
		n -= int64(d.head.records)
		d.At += headerBytes + int64(d.head.storedBytes)
		d.known = false
	}
	for ; n > 0; n-- {
		if ok, err := d.next(); err != nil {
			return err
		} else if !ok {
			return d.File.Corrupt(d.At, errFormat)
		}
	}
	return nil
}
