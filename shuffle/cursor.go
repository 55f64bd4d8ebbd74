package shuffle

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"mrlocal/internal/membudget"
	"mrlocal/shuffle/record"
)

// cursor reads one sorted run: entries in memory, or a partition of a segment on disk.
type cursor struct {
	prefix  uint64         // of the current key
	entries []record.Entry // in memory; the first one is the current record
	arena   *record.Arena
	ahead   *ahead      // sorts the entries that follow; nil: none follow
	disk    *diskCursor // nil: the run is in memory
	done    bool
	touched byte // keeps the compiler from removing the reads that warm the cache
}

// key returns the current key. For a large record on disk it returns the part that the cursor
// holds.
func (c *cursor) key() []byte {
	if c.disk != nil {
		return c.disk.key
	}
	return c.arena.Key(c.entries[0].Ref)
}

// whole reports whether key returns the whole key.
func (c *cursor) whole() bool {
	return c.disk == nil || len(c.disk.key) == c.disk.keyBytes
}

// advance moves to the next record. At the end it sets done and returns false.
func (c *cursor) advance() (bool, error) {
	if c.disk != nil {
		ok, err := c.disk.next()
		if ok && !c.disk.same {
			c.prefix = record.PrefixOf(c.disk.key)
		}
		c.done = !ok
		return ok, err
	}
	if c.entries = c.entries[1:]; len(c.entries) == 0 && !c.more() {
		c.done = true
		return false, nil
	}
	c.prefix = c.entries[0].Prefix
	return true, nil
}

// more continues with the entries of the next range. It returns false after the last one.
func (c *cursor) more() bool {
	if c.ahead != nil {
		c.entries = c.ahead.next()
	}
	return len(c.entries) > 0
}

// readers holds what the disk cursors of one merge share. Its memory is one chunk (useMemory).
// Only one cursor reads at a time, so one staging buffer is enough.
type readers struct {
	ctx   context.Context
	lease *membudget.Lease // for records longer than a block
	// The attempt has a bounded number of file descriptors, which limits the open files.
	files   openFiles
	staging []byte    // compressed bytes of the block that is being read
	pieces  [2][]byte // a block each, to compare two keys that are longer than a block piece by piece
	decoder decompressor
	took    time.Duration // time of reading, checking and unpacking blocks
	err     error         // sticky; of a read for a comparison, which cannot return it
}

// useMemory divides p, a chunk. The caller keeps owning it and frees it. The capacity of each
// slice ends where the next one begins, so that appending cannot overwrite it.
func (r *readers) useMemory(p []byte) {
	r.staging = p[:bufferBytes:bufferBytes]
	r.pieces[0] = p[bufferBytes : 2*bufferBytes : 2*bufferBytes]
	r.pieces[1] = p[2*bufferBytes : 3*bufferBytes : 3*bufferBytes]
}

// diskCursor reads one partition of one segment, block by block.
//
// When the cursor reaches a large record, it reads only the first block. key then holds the
// part of the key that lies in that block. load reads the rest into memory of its own, which is
// freed at the next record. So a merge of many large records holds only one of them.
//
// keyPieces copies a diskCursor, so it must not hold locks.
type diskCursor struct {
	shared *readers
	file   *tempFile
	at     int64             // offset in the file of the header that is read next
	end    int64             // offset in the file behind the partition
	head   header            // of the block at at
	known  bool              // head and headAs are those of the block at at
	headAs [headerBytes]byte // the bytes of head, for the checksum

	buf  []byte // raw bytes of the current block; bufferBytes of memory of the merge
	pos  int    // where the next record begins in buf
	size int    // raw length of the current block
	left int    // records of the current block that are not read yet

	key, value           []byte // parts of buf, or of big
	keyBytes, valueBytes int    // whole lengths of key and value
	same                 bool   // the key equals that of the record before
	large                bool   // key and value are only the parts in the first block
	loaded               bool   // key and value were completed by load, and lie in big
	big                  *membudget.Chunk
}

// readHead sets d.head to the header of the block at d.at. It reads nothing if readBlock has
// read the header already.
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

// parseHead sets d.head from the bytes in headAs.
func (d *diskCursor) parseHead() (err error) {
	if d.head, err = parseHeader(d.headAs[:]); err != nil {
		return d.file.corrupt(d.at, err)
	}
	d.known = true
	return nil
}

// readBlock reads the block at d.at to dst, which has bufferBytes, checks it, and moves d.at
// behind it. The same call to the system reads the header of the next block. readBlock returns
// the header of the block in dst.
func (d *diskCursor) readBlock(dst []byte) (h header, err error) {
	begun := time.Now() // once per block, not once per record
	defer func() { d.shared.took += time.Since(begun) }()
	if err := d.readHead(); err != nil {
		return h, err
	}
	h = d.head
	// A block that is not compressed is read directly to dst.
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
	// The sum covers the stored bytes, so damage is found before anything is unpacked.
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

// next moves to the next record. It returns false at the end of the partition. key and value
// are valid until the next call. A record is: key length + 1, or 0 for the key of the record
// before; value length; key; value. Both lengths are varints.
//
// hot: runs once for each record that is read back.
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
		d.value = p[2 : 2+v : 2+v]
		d.same = true
		d.valueBytes = v
		d.pos += 2 + v
		return true, nil
	}
	if len(p) > 2 && p[0] < 0x80 && p[1] < 0x80 && p[0] != 0 { // short key, short value
		k, v := int(p[0])-1, int(p[1])
		if 2+k+v > len(p) {
			return false, d.file.corrupt(d.at, errFormat)
		}
		d.key = p[2 : 2+k : 2+k]
		d.value = p[2+k : 2+k+v : 2+k+v]
		d.same = false
		d.keyBytes, d.valueBytes = k, v
		d.pos += 2 + k + v
		return true, nil
	}
	return d.nextSlow(p)
}

// nextSlow is next for lengths of more than one byte and for large records. p is the unread
// part of the block.
func (d *diskCursor) nextSlow(p []byte) (bool, error) {
	k, n := binary.Uvarint(p)
	v, m := binary.Uvarint(p[max(n, 0):])
	// Larger lengths could overflow the sums below.
	if n <= 0 || m <= 0 || v > 1<<32 || k > 1<<32 {
		return false, d.file.corrupt(d.at, errFormat)
	}
	p = p[n+m:]
	d.same = k == 0
	if !d.same {
		d.keyBytes = int(k) - 1
	}
	d.valueBytes = int(v)
	// A repeated key is not stored again.
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

// nextBlock reads the next block in which records begin. It passes over the rest of a large
// record that was not loaded, reading only the headers. It returns false at the end of the
// partition.
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
	d.pos = 0
	d.size = h.rawBytes
	d.left = h.records
	d.large = h.flags == flagLarge
	return true, nil
}

// load reads the rest of a large record. Then value is whole, and, if wantKey is true, also
// key. It takes the memory from the lease; drop frees it. load does nothing for other records.
// It fails if there is no memory or a block is damaged.
func (d *diskCursor) load(wantKey bool) error {
	if !d.large || d.loaded {
		return nil
	}
	// skip is the number of bytes still to be dropped: those of the key, if it is not wanted.
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
	// take copies p to big, except for the bytes to be dropped.
	take := func(p []byte) {
		n := min(skip, len(p))
		skip -= n
		to = to[copy(to, p[n:]):]
	}
	// The first block has the beginning of the record.
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

// drop frees the memory that load took. Slices of key and value into it are invalid afterwards.
func (d *diskCursor) drop() {
	if d.big != nil {
		freeBig(d.shared.lease, d.big)
		d.big = nil
	}
}

// demandBig takes contiguous memory from l. The lease grows if necessary. If the budget has no
// free memory, it evicts map outputs, and demandBig waits for that until ctx ends. The caller
// owns the result and frees it with freeBig.
func demandBig(ctx context.Context, l *membudget.Lease, bytes int64) (*membudget.Chunk, error) {
	if c, ok := l.Big(bytes); ok {
		return c, nil
	}
	// The lease charges whole pages. ChunkBytes/64 is one page.
	charged := bytes + membudget.ChunkBytes/64
	more := charged - l.Available()
	if !l.Grow(more) {
		if err := l.GrowByEviction(ctx, more); err != nil {
			return nil, err
		}
	}
	if c, ok := l.Big(bytes); ok {
		return c, nil
	}
	// The growth did not help, so the lease gives it back.
	l.Shrink(more)
	return nil, membudget.ErrNoRoom
}

// freeBig frees c, which demandBig took from l, and shrinks l by its length.
func freeBig(l *membudget.Lease, c *membudget.Chunk) {
	bytes := int64(len(c.Data))
	l.Free(c)
	l.Shrink(bytes)
}

// keyPieces reads a key piece by piece if the cursor holds only a part of it. It works on a
// copy of the cursor, so that the cursor itself can still return the record.
type keyPieces struct {
	d     diskCursor // a copy, which reads beyond the original
	room  []byte     // memory for a block
	first bool       // the next piece is the part that the cursor holds
	rest  int        // bytes of the key that are not returned yet
}

// keyPieces begins to read the current key. room has bufferBytes; keyPieces uses it until the
// caller is done.
func (d *diskCursor) keyPieces(room []byte) keyPieces {
	return keyPieces{d: *d, room: room, first: true, rest: d.keyBytes}
}

// next returns the next piece of the key, which is valid until the next call. It returns nil at
// the end.
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

// skip moves behind the first n records of the partition. If it passes over a whole block, it
// reads only the header of the block. A merge uses it after an eviction, to pass over the
// records that it has read from memory.
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
