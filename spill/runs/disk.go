package runs

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"mrlocal/internal/membudget"
)

// readers is what the disk cursors of one merge share. All of its memory is one
// chunk (useMemory).
// Only one cursor reads at a time, so one staging buffer is enough.
type readers struct {
	ctx   context.Context
	lease *membudget.Lease // for records longer than a block
	// Bounded by the descriptors that the attempt may use.
	files   openFiles
	staging []byte    // compressed blocks pass through it
	pieces  [2][]byte // a block each: two keys longer than a block are compared piece by piece
	decoder decompressor
	took    time.Duration // reading, checking and unpacking blocks
	err     error         // sticky: reading for a comparison failed
}

// useMemory divides p, a chunk, which the caller keeps and frees.
// Slices are cut to their capacity, so that none grows into the next.
func (r *readers) useMemory(p []byte) {
	r.staging = p[:bufferBytes:bufferBytes]
	r.pieces[0] = p[bufferBytes : 2*bufferBytes : 2*bufferBytes]
	r.pieces[1] = p[2*bufferBytes : 3*bufferBytes : 3*bufferBytes]
}

// diskCursor reads one partition of one segment, block by block.
//
// A large record is not read whole when the cursor reaches it: key holds as
// much of the key as lies in the first block. load reads the rest, into memory
// of its own that is freed at the next record. So a merge of many large records
// holds one of them.
// It is copied by keyPieces, so it holds no lock and nothing that must not be copied.
type diskCursor struct {
	shared *readers
	file   *tempFile
	at     int64             // offset of the header that is read next
	end    int64             // offset behind the partition
	head   header            // of the block at at
	known  bool              // head and headAs are read
	headAs [headerBytes]byte // head as it stands on disk

	buf  []byte // the block; of bufferBytes, memory of the merge
	pos  int    // in buf: of the next record
	size int    // of the block in buf
	left int    // records of the block that are not read yet

	key, value           []byte // in buf, or in big
	keyBytes, valueBytes int    // their whole lengths
	same                 bool   // key is equal to that of the record before
	large                bool   // key and value are only what the first block holds
	loaded               bool   // load has made them whole, in big
	big                  *membudget.Chunk
}

// readHead makes d.head the header of the block at d.at.
// It reads nothing if readBlock has read the header already.
func (d *diskCursor) readHead() error {
	if d.known {
		return nil
	}
	file, err := d.shared.files.get(d.file)
	if err != nil {
		return err
	}
	if err := readFull(file, d.headAs[:], d.at); err != nil {
		return d.file.corrupt(d.at, err)
	}
	return d.parseHead()
}

// parseHead makes d.head what headAs holds.
func (d *diskCursor) parseHead() (err error) {
	if d.head, err = parseHeader(d.headAs[:]); err != nil {
		return d.file.corrupt(d.at, err)
	}
	d.known = true
	return nil
}

// readBlock reads the block at d.at to dst, which has bufferBytes, checks it and moves d.at
// behind it. In the same call it reads the header of the next block.
// It returns the header of the block that it has read.
func (d *diskCursor) readBlock(dst []byte) (h header, err error) {
	begun := time.Now() // once a block, not once a record
	defer func() { d.shared.took += time.Since(begun) }()
	if err := d.readHead(); err != nil {
		return h, err
	}
	h = d.head
	// A block that is not compressed is read to its place directly.
	into := d.shared.staging
	if h.codec == None {
		into = dst
	}
	next := d.at + headerBytes + int64(h.storedBytes)
	want := h.storedBytes
	if next+headerBytes <= d.end {
		want += headerBytes
	}
	file, err := d.shared.files.get(d.file)
	if err != nil {
		return h, err
	}
	// The lengths come from the file, so they are checked before they are used.
	if next > d.end {
		return h, d.file.corrupt(d.at, errFormat)
	}
	if err := readFull(file, into[:want], d.at+headerBytes); err != nil {
		return h, d.file.corrupt(d.at, err)
	}
	// The sum covers what is stored, so damage is found before anything is unpacked.
	if checksum(d.headAs[:], into[:h.storedBytes]) != h.sum {
		return h, d.file.corrupt(d.at, errChecksum)
	}
	if h.codec != None {
		if err := d.shared.decoder.unpack(dst, into[:h.storedBytes], h); err != nil {
			return h, d.file.corrupt(d.at, err)
		}
	}
	d.at, d.known = next, false
	if want > h.storedBytes {
		copy(d.headAs[:], into[h.storedBytes:want])
		return h, d.parseHead()
	}
	return h, nil
}

// next moves to the next record. It reports false at the end of the partition.
// Key and value point into buf and are valid until the next call. A record is: key
// length + 1, or 0 for the key before; value length; key; value. Both lengths are
// varints.
//
// hot: once a record read back.
func (d *diskCursor) next() (bool, error) {
	if d.left == 0 || d.large {
		if ok, err := d.nextBlock(); !ok || err != nil {
			return false, err
		}
	}
	d.left--
	p := d.buf[d.pos:d.size]
	if len(p) > 1 && p[0] == 0 && p[1] < 0x80 && d.key != nil { // the same key, a short value
		v := int(p[1])
		if 2+v > len(p) {
			return false, d.file.corrupt(d.at, errFormat)
		}
		d.value, d.same, d.valueBytes = p[2:2+v:2+v], true, v
		d.pos += 2 + v
		return true, nil
	}
	if len(p) > 2 && p[0] < 0x80 && p[1] < 0x80 && p[0] != 0 { // short key, short value
		k, v := int(p[0])-1, int(p[1])
		if 2+k+v > len(p) {
			return false, d.file.corrupt(d.at, errFormat)
		}
		d.key, d.value, d.same = p[2:2+k:2+k], p[2+k:2+k+v:2+k+v], false
		d.keyBytes, d.valueBytes = k, v
		d.pos += 2 + k + v
		return true, nil
	}
	return d.nextSlow(p)
}

// nextSlow is next for lengths of more than one byte and for large records. p is the
// rest of the block.
func (d *diskCursor) nextSlow(p []byte) (bool, error) {
	k, n := binary.Uvarint(p)
	v, m := binary.Uvarint(p[max(n, 0):])
	// The bounds keep the sums below in range.
	if n <= 0 || m <= 0 || v > 1<<32 || k > 1<<32 {
		return false, d.file.corrupt(d.at, errFormat)
	}
	p = p[n+m:]
	d.same = k == 0
	if !d.same {
		d.keyBytes = int(k) - 1
	}
	d.valueBytes = int(v)
	// A repeated key takes no room.
	need := d.valueBytes
	if !d.same {
		need += d.keyBytes
	}
	switch {
	// The rest of the record lies in blocks that follow.
	case d.large:
		d.key = p[:min(d.keyBytes, len(p))]
		d.value = p[len(d.key):min(len(p), need)]
		d.pos = d.size
		return true, nil
	case need > len(p) || d.same && d.key == nil:
		return false, d.file.corrupt(d.at, errFormat)
	case !d.same:
		d.key = p[:d.keyBytes:d.keyBytes]
		p = p[d.keyBytes:]
	}
	d.value = p[:d.valueBytes:d.valueBytes]
	d.pos = d.size - len(p) + d.valueBytes
	return true, nil
}

// nextBlock reads the next block in which records begin. It skips the rest of a large
// record that was not loaded. It reports false at the end of the partition.
func (d *diskCursor) nextBlock() (bool, error) {
	d.drop()
	d.key, d.large, d.loaded = nil, false, false
	for {
		if d.at >= d.end {
			return false, nil
		}
		if err := d.readHead(); err != nil {
			return false, err
		}
		// Blocks of a record that was not loaded are passed over by their headers alone.
		if d.head.flags != flagContinued {
			break
		}
		d.at += headerBytes + int64(d.head.storedBytes)
		d.known = false
	}
	h, err := d.readBlock(d.buf)
	if err != nil {
		return false, err
	}
	if h.records < 1 || h.flags == flagLarge && h.records != 1 {
		return false, d.file.corrupt(d.at, errFormat)
	}
	d.pos, d.size, d.left, d.large = 0, h.rawBytes, h.records, h.flags == flagLarge
	return true, nil
}

// load reads the rest of a large record, so that value, and if wantKey also key, is whole.
// The memory is taken from the lease and freed by drop. It does nothing for other records.
func (d *diskCursor) load(wantKey bool) error {
	if !d.large || d.loaded {
		return nil
	}
	// skip counts bytes of the record that are read but not kept: the key, if it is not
	// wanted.
	skip, size := d.keyBytes, d.valueBytes
	if wantKey {
		skip, size = 0, d.keyBytes+d.valueBytes
	}
	big, err := demandBig(d.shared.ctx, d.shared.lease, int64(size))
	if err != nil {
		return fmt.Errorf("merge: a record of %d bytes: %w", d.keyBytes+d.valueBytes, err)
	}
	d.big, d.loaded = big, true
	to := big.Data
	// take moves what it wants of a piece to its place in big.
	take := func(p []byte) {
		n := min(skip, len(p))
		skip -= n
		to = to[copy(to, p[n:]):]
	}
	// What the first block holds of the record comes first.
	take(d.key)
	take(d.value)
	for rest := d.keyBytes + d.valueBytes - len(d.key) - len(d.value); rest > 0; {
		h, err := d.readBlock(d.buf)
		if err != nil {
			return err
		}
		if h.flags != flagContinued || h.rawBytes == 0 || h.rawBytes > rest {
			return d.file.corrupt(d.at, errFormat)
		}
		take(d.buf[:h.rawBytes])
		rest -= h.rawBytes
	}
	if wantKey {
		d.key = big.Data[:d.keyBytes:d.keyBytes]
	}
	d.value = big.Data[size-d.valueBytes : size : size]
	return nil
}

// drop frees the memory that load took.
// Slices of key and value into it must not be used any more.
func (d *diskCursor) drop() {
	if d.big != nil {
		freeBig(d.shared.lease, d.big)
		d.big = nil
	}
}

// demandBig takes contiguous memory from l. If l has too little, it grows, and if the budget
// has none free, others are evicted. freeBig ends it.
// The caller owns the result.
func demandBig(ctx context.Context, l *membudget.Lease, bytes int64) (*membudget.Chunk, error) {
	if c, ok := l.Big(bytes); ok {
		return c, nil
	}
	charged := bytes + membudget.ChunkBytes/64
	// A chunk of its own is charged in whole pages.
	more := charged - l.Available()
	if !l.Grow(more) {
		if err := l.Demand(ctx, more); err != nil {
			return nil, err
		}
	}
	if c, ok := l.Big(bytes); ok {
		return c, nil
	}
	// What was granted goes back if it did not help.
	l.Shrink(more)
	return nil, membudget.ErrNoRoom
}

// freeBig frees c and shrinks l by as much.
// c and l must be those of demandBig.
func freeBig(l *membudget.Lease, c *membudget.Chunk) {
	bytes := int64(len(c.Data))
	l.Free(c)
	l.Shrink(bytes)
}

// keyPieces reads a key piece by piece, where the cursor holds only a part of it.
// The copy may move on without disturbing the original, which still has to return the
// record.
type keyPieces struct {
	d     diskCursor // a copy, which reads ahead of the original
	room  []byte     // for a block
	first bool       // the next piece is what the cursor holds
	rest  int        // bytes of the key that are not returned yet
}

// keyPieces begins to read the current key. room has bufferBytes and is used until the end.
func (d *diskCursor) keyPieces(room []byte) keyPieces {
	return keyPieces{d: *d, room: room, first: true, rest: d.keyBytes}
}

// next returns the next piece of the key, valid until the next call; nil at the end.
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
		return nil, k.d.file.corrupt(k.d.at, errFormat)
	}
	k.rest -= n
	return k.room[:n], nil
}

// skip moves behind the first n records of the partition. Of blocks that it passes over it
// reads only the headers.
// It is used after an eviction: the records that were read from memory are passed over
// on disk.
func (d *diskCursor) skip(n int64) error {
	for n > 0 {
		if d.at >= d.end {
			return d.file.corrupt(d.at, errFormat)
		}
		if err := d.readHead(); err != nil {
			return err
		}
		if int64(d.head.records) > n {
			break
		}
		n -= int64(d.head.records)
		d.at += headerBytes + int64(d.head.storedBytes)
		d.known = false
	}
	for ; n > 0; n-- {
		if ok, err := d.next(); err != nil {
			return err
		} else if !ok {
			return d.file.corrupt(d.at, errFormat)
		}
	}
	return nil
}
