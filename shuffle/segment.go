package shuffle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"mrlocal/internal/disk"
	"mrlocal/internal/membudget"
	"mrlocal/shuffle/record"
)

// segment is one sorted run on disk: the blocks of each partition, then the index, then the
// footer (docs/formats.md). Only the offset of the index is kept in memory. A segment never
// changes after it is written.
type segment struct {
	index int64 // offset of the index in the file
}

const (
	// segmentMagic stands at both ends of a segment. A transfer that converts line breaks
	// damages it and is noticed, as in PNG.
	segmentMagic = "MRSEG1\r\n"
	footerBytes  = 32
	indexBytes   = 32
)

// indexEntry says where the blocks of a partition lie in the file, in bytes, and how many
// records they hold. On disk:
//
//	offset u64 | stored u64 | records u64 | 0 u32 | CRC-32C of the 28 bytes before u32
//
// offset counts from the start of the file, which may have other segments before this one.
type indexEntry struct{ offset, stored, records int64 }

// put writes the entry to p, which has indexBytes.
func (e indexEntry) put(p []byte) {
	binary.LittleEndian.PutUint64(p, uint64(e.offset))
	binary.LittleEndian.PutUint64(p[8:], uint64(e.stored))
	binary.LittleEndian.PutUint64(p[16:], uint64(e.records))
	binary.LittleEndian.PutUint32(p[24:], 0)
	binary.LittleEndian.PutUint32(p[28:], crc32.Checksum(p[:28], castagnoli))
}

// parseIndexEntry reads an entry. It fails if the checksum does not match.
func parseIndexEntry(p []byte) (e indexEntry, err error) {
	if crc32.Checksum(p[:28], castagnoli) != binary.LittleEndian.Uint32(p[28:]) {
		return e, errChecksum
	}
	return indexEntry{
		int64(binary.LittleEndian.Uint64(p)), int64(binary.LittleEndian.Uint64(p[8:])), int64(binary.LittleEndian.Uint64(p[16:])),
	}, nil
}

// Writer writes segments, one after the other, each to the end of a file
// (MapOutput.AppendSegment). Its memory is one chunk of the caller. It holds the block that is
// being filled, and blocks that are ready to be written. The first error is sticky until the
// next segment begins.
type Writer struct {
	file  *disk.TempFile
	raw   []byte // the block that is being filled is raw[:n]
	out   []byte // the blocks that are ready to be written are out[:ready]
	n     int
	ready int
	at    int64 // offset in the file behind the blocks that are ready

	records    int    // in the block that is being filled
	lastKey    []byte // last key of that block, in raw; nil: none
	compressor *compressor

	part         int               // number of partitions that have ended
	partBegin    int64             // offset of the partition that is being written
	partRecs     int64             // number of its records
	index        []byte            // the index entries of the partitions that have ended
	stats        []record.PartStat // counts by partition; nil: nothing is counted
	TotalBytes   int64             // stored bytes of the segment, without index and footer
	TotalRecords int64             // records of the segment
	err          error
}

// NewWriter makes a Writer that uses memory, a chunk, until Close. The caller keeps owning the
// chunk. NewWriter fails if the encoder of the codec cannot be made.
func NewWriter(memory []byte, codec Codec) (*Writer, error) {
	c, err := newCompressor(codec)
	if err != nil {
		return nil, err
	}
	return &Writer{
		raw: memory[:maxBlockBytes:maxBlockBytes], out: memory[bufferBytes:membudget.ChunkBytes], compressor: c,
	}, nil
}

// begin starts a segment at offset at, which is the end of file. If stats is not nil, the
// Writer adds the counts of each partition to it. begin resets everything of the segment
// before, so a Writer may write many segments.
func (w *Writer) begin(file *disk.TempFile, at int64, stats []record.PartStat) {
	w.file = file
	w.at = at
	w.stats = stats
	w.err = nil
	w.n = 0
	w.records = 0
	w.lastKey = nil
	w.part, w.partRecs = 0, 0
	w.index = w.index[:0]
	w.TotalBytes, w.TotalRecords = 0, 0
	w.ready = copy(w.out, segmentMagic)
	w.at += int64(w.ready)
	w.partBegin = w.at
}

// Add appends a record to the current partition. It copies key and value. Keys must ascend
// within a partition; Add does not check that. Errors are sticky and end the segment.
//
// hot: runs once for each record that is written.
func (w *Writer) Add(key, value []byte) {
	w.partRecs++
	if w.stats != nil {
		w.stats[w.part].Count(key, value)
	}
	need := len(key) + len(value) + record.MaxHeaderBytes
	// need includes the longest header of a record, so a block never overflows.
	if need > maxBlockBytes-w.n {
		if w.endBlock(0); need > maxBlockBytes {
			w.addLarge(key, value)
			return
		}
	}
	p := w.raw[w.n:]
	n := 0
	// A repeated key is stored as one byte. The first record of a block always has its key, so
	// that a block can be read alone.
	if w.lastKey != nil && bytes.Equal(key, w.lastKey) {
		p[0] = 0
		n = 1 + binary.PutUvarint(p[1:], uint64(len(value)))
	} else {
		n = binary.PutUvarint(p, uint64(len(key))+1)
		n += binary.PutUvarint(p[n:], uint64(len(value)))
		w.lastKey = p[n : n+len(key)]
		n += copy(p[n:], key)
	}
	w.n += n + copy(p[n:], value)
	w.records++
}

// addLarge cuts one record into blocks, which hold nothing else. The block before must have
// ended.
func (w *Writer) addLarge(key, value []byte) {
	w.n = binary.PutUvarint(w.raw, uint64(len(key))+1)
	w.n += binary.PutUvarint(w.raw[w.n:], uint64(len(value)))
	w.records = 1
	flag := uint8(flagLarge)
	for _, rest := range [][]byte{key, value} {
		for len(rest) > 0 {
			n := copy(w.raw[w.n:], rest)
			w.n += n
			if rest = rest[n:]; w.n == maxBlockBytes {
				w.endBlock(flag)
				flag = flagContinued
			}
		}
	}
	if w.n > 0 {
		w.endBlock(flag)
	}
}

// endBlock compresses the current block and adds it to the blocks that are ready to be written.
// It does nothing if the block is empty.
func (w *Writer) endBlock(flags uint8) {
	if w.n == 0 {
		return
	}
	// One write takes as many blocks as fit in out.
	if len(w.out)-w.ready < headerBytes+maxPackedBytes {
		w.flush()
	}
	head := w.out[w.ready : w.ready+headerBytes]
	body := w.out[w.ready+headerBytes:]
	codec, packed := w.compressor.pack(body[:maxPackedBytes:maxPackedBytes], w.raw[:w.n])
	if codec == None {
		packed = body[:copy(body, w.raw[:w.n])]
	} else if len(packed) > 0 && &packed[0] != &body[0] {
		packed = body[:copy(body, packed)]
	}
	h := header{codec: codec, flags: flags, rawBytes: w.n, storedBytes: len(packed), records: w.records}
	// The sum covers the rest of the header, so it is written last.
	h.put(head)
	binary.LittleEndian.PutUint32(head[16:], checksum(head, packed))
	w.ready += headerBytes + len(packed)
	w.at += int64(headerBytes + len(packed))
	w.n, w.records, w.lastKey = 0, 0, nil
}

// EndPart ends the current partition. Later records belong to the next one. A partition without
// records gets an index entry too, because readers find entries by the number of the partition.
func (w *Writer) EndPart() {
	w.endBlock(0)
	var entry [indexBytes]byte
	indexEntry{w.partBegin, w.at - w.partBegin, w.partRecs}.put(entry[:])
	w.index = append(w.index, entry[:]...)
	w.TotalRecords += w.partRecs
	w.TotalBytes += w.at - w.partBegin
	w.part++
	w.partBegin, w.partRecs = w.at, 0
}

// end writes the index and the footer. It returns the segment, the offset behind it, and the
// first error of writing. The footer has a fixed length: offset of the index, number of
// partitions, sum, magic.
func (w *Writer) end() (segment, int64, error) {
	w.flush()
	s := segment{index: w.at}
	tail := w.index
	var footer [footerBytes]byte
	binary.LittleEndian.PutUint64(footer[:], uint64(s.index))
	binary.LittleEndian.PutUint64(footer[8:], uint64(w.part))
	binary.LittleEndian.PutUint32(footer[16:], crc32.Checksum(footer[:16], castagnoli))
	copy(footer[24:], segmentMagic)
	tail = append(tail, footer[:]...)
	w.write(tail)
	w.at += int64(len(tail))
	return s, w.at, w.err
}

// flush writes the blocks that are ready.
func (w *Writer) flush() {
	w.write(w.out[:w.ready])
	w.ready = 0
}

// write writes p and measures the time, for the compressor's decisions. It does nothing after
// an error.
func (w *Writer) write(p []byte) {
	if w.err != nil || len(p) == 0 {
		return
	}
	begun := time.Now()
	if _, err := w.file.Write(p); err != nil {
		w.err = fmt.Errorf("spill: %w", err)
	}
	w.compressor.write.add(time.Since(begun), len(p))
}

// Close closes the encoder of the codec. It neither ends the segment nor frees the memory.
func (w *Writer) Close() {
	if w.compressor.zstd != nil {
		w.compressor.zstd.Close()
	}
}

// readIndex reads the index entry of partition part of a segment.
func readIndex(file io.ReaderAt, s segment, part int) (indexEntry, error) {
	var p [indexBytes]byte
	if err := readFull(file, p[:], s.index+int64(part)*indexBytes); err != nil {
		return indexEntry{}, err
	}
	return parseIndexEntry(p[:])
}

// readFull reads len(p) bytes at offset at. If the file is too short, it returns errShort.
func readFull(file io.ReaderAt, p []byte, at int64) error {
	n, err := file.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = errShort
	}
	return err
}

var (
	// errChecksum says that bytes on disk are not the bytes that were written.
	errChecksum = errors.New("checksum does not match")
	errShort    = errors.New("is cut short")
)

// CorruptError says that a map output, or a file of a merge, cannot be read back. A block fails
// its check, or the file is too short or gone. The map that made Output has to run again.
// Output is nil for a file that the merge itself has made. Offset is in bytes.
type CorruptError struct {
	Output *MapOutput
	Path   string
	Offset int64
	Err    error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("spilled data %s at byte %d: %v", e.Path, e.Offset, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// tempFile is a temporary file of segments. It is open only while it is written or read, so the
// number of descriptors does not depend on the number of files. After a failed segment, the
// next one overwrites it.
type tempFile struct {
	temp  *disk.TempFile // nil: not made yet, or made by an earlier run
	path  string         // of a file that an earlier run has made; else ""
	bytes int64          // of whole segments
	kept  bool           // a later run may read it, so remove leaves it
	owner *MapOutput     // nil: the file belongs to a merge
}

// corrupt returns a CorruptError for the file, which cannot be read at offset at.
func (f *tempFile) corrupt(at int64, err error) error {
	return &CorruptError{Output: f.owner, Path: f.name(), Offset: at, Err: err}
}

// appendSegment writes one segment behind the segments of the file. The first one makes the
// file with createTemp. write adds the records and ends each partition. If stats is not nil,
// the counts of each partition are added to it. After an error the file has the segments that
// it had before, but stats may have counted records.
func (f *tempFile) appendSegment(w *Writer, createTemp func() (*disk.TempFile, error), stats []record.PartStat, write func(w *Writer) error) (s segment, err error) {
	file, err := f.openToAppend(createTemp)
	if err != nil {
		return s, fmt.Errorf("spill: %w", err)
	}
	w.begin(file, f.bytes, stats)
	end := int64(0)
	defer func() { // a combiner in write may end the goroutine
		// Close may report that an earlier write has failed.
		if err = errors.Join(err, file.Close()); err == nil {
			f.bytes = end
		}
	}()
	if err = write(w); err == nil {
		s, end, err = w.end()
	}
	return s, err
}

// openToAppend opens the file behind its last whole segment, or makes it. The caller closes it
// after the segment.
func (f *tempFile) openToAppend(createTemp func() (*disk.TempFile, error)) (_ *disk.TempFile, err error) {
	switch {
	case f.temp != nil:
		return f.temp, f.temp.Append(f.bytes)
	case f.path != "":
		return nil, errors.New("a file of an earlier run takes no more segments")
	case createTemp == nil:
		return nil, errors.New("there is no temporary directory")
	}
	f.temp, err = createTemp()
	return f.temp, err
}

// name returns the path of the file; "" if it was not made.
func (f *tempFile) name() string {
	if f.temp != nil {
		return f.temp.Name()
	}
	return f.path
}

// open opens the file for reading.
func (f *tempFile) open() (*disk.File, error) {
	if f.temp != nil {
		return f.temp.Open()
	}
	return disk.OpenRead(f.path)
}

// remove deletes the file, if it was made and is not kept. It may be called again.
func (f *tempFile) remove() error {
	if f.temp == nil || f.kept {
		return nil
	}
	err := f.temp.Remove()
	f.temp = nil
	return err
}

// openFiles keeps at most limit files open for reading: the ones that were used last. One merge
// owns it, so it has no lock.
type openFiles struct {
	limit int
	files []openFile // least recently used first
}

// openFile is a file that is open for reading.
type openFile struct {
	of   *tempFile
	file *disk.File
}

// get returns f, open for reading. It is valid until the next get. get fails with a
// CorruptError if the file is gone. Other errors, such as too few descriptors, do not mean that
// the data is damaged.
func (o *openFiles) get(f *tempFile) (*disk.File, error) {
	// A cursor mostly reads the file that was read last.
	last := len(o.files) - 1
	if last >= 0 && o.files[last].of == f {
		return o.files[last].file, nil
	}
	for i, c := range o.files {
		if c.of == f {
			o.files = append(slices.Delete(o.files, i, i+1), c)
			return c.file, nil
		}
	}
	if len(o.files) >= max(1, o.limit) {
		_ = o.files[0].file.Close() // the file was only read, so no data is lost
		o.files = slices.Delete(o.files, 0, 1)
	}
	file, err := f.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f.corrupt(0, err)
	}
	if err != nil {
		return nil, err
	}
	o.files = append(o.files, openFile{f, file})
	return file, nil
}

// close closes all files. get may open them again.
func (o *openFiles) close() {
	for _, c := range o.files {
		_ = c.file.Close() // the file was only read, so no data is lost
	}
	o.files = nil
}

// A block on disk (docs/formats.md) is a header and the stored bytes, compressed or not.
//
//	0        1        2        4          8            12         16
//	+--------+--------+--------+----------+------------+----------+----------+
//	| codec  | flags  | 0      | raw u32  | stored u32 | records  | CRC-32C  |
//	+--------+--------+--------+----------+------------+----------+----------+
//
// raw and stored are lengths in bytes, before and after compression. records counts the records
// that begin in the block. The checksum covers the 16 bytes before it and the stored bytes. A
// record that does not fit in one block is cut into several blocks. The first one has the flag
// large and counts the record; the others have the flag continued. All numbers are little-endian.
// 32 bits are enough for each number, because a block has at most 64 KiB.
const (
	headerBytes = 20

	// bufferBytes is the memory for a block and the header of the next block, which one call
	// reads together. A chunk has four of them.
	bufferBytes = 64 << 10
	// maxBlockBytes is the most raw bytes in a block. The other 32 bytes hold the header of the
	// next block, which has headerBytes.
	maxBlockBytes = bufferBytes - 32

	// The flags exclude each other.
	flagLarge     = 1
	flagContinued = 2
)

// Codec says how blocks on disk are compressed. Files contain the numbers, so they must not
// change.
type Codec uint8

const (
	Auto Codec = iota // s2 as long as it saves time; the Writer decides for each block
	None
	S2
	Zstd
)

// String returns the name of the codec, as in flags and reports.
func (c Codec) String() string { return [...]string{"auto", "none", "s2", "zstd"}[c] }

// castagnoli is the table of CRC-32C, which processors compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the header of a block.
type header struct {
	codec       Codec // never Auto
	flags       uint8
	rawBytes    int // length of the records before compression
	storedBytes int
	records     int // that begin in the block
	sum         uint32
}

// errFormat says that bytes that were read back are not a block or not a record.
var errFormat = errors.New("not a block")

// parseHeader reads a header and checks that its fields agree. It does not check the sum,
// because that also covers the stored bytes, which are not read yet.
func parseHeader(p []byte) (header, error) {
	h := header{
		codec: Codec(p[0]), flags: p[1],
		rawBytes: int(binary.LittleEndian.Uint32(p[4:])), storedBytes: int(binary.LittleEndian.Uint32(p[8:])),
		records: int(binary.LittleEndian.Uint32(p[12:])), sum: binary.LittleEndian.Uint32(p[16:]),
	}
	// The bounds protect the buffers: later code relies on them, whatever the file says.
	if h.codec < None || h.codec > Zstd || h.flags > flagContinued || p[2]|p[3] != 0 ||
		h.rawBytes > maxBlockBytes || h.storedBytes > h.rawBytes || h.codec == None && h.storedBytes != h.rawBytes {
		return h, errFormat
	}
	return h, nil
}

// put writes the header to p, which has headerBytes. If h.sum is not known yet, the caller
// writes it later.
func (h header) put(p []byte) {
	p[0] = byte(h.codec)
	p[1] = h.flags
	p[2], p[3] = 0, 0
	binary.LittleEndian.PutUint32(p[4:], uint32(h.rawBytes))
	binary.LittleEndian.PutUint32(p[8:], uint32(h.storedBytes))
	binary.LittleEndian.PutUint32(p[12:], uint32(h.records))
	binary.LittleEndian.PutUint32(p[16:], h.sum)
}

// checksum returns the sum of a block. p begins with the header; only the 16 bytes before the
// sum count.
func checksum(p, stored []byte) uint32 {
	return crc32.Update(crc32.Checksum(p[:16], castagnoli), castagnoli, stored)
}

// compressor compresses blocks. For Auto it measures: it compresses as long as that takes less
// time than writing and reading back the bytes that compression saves (docs/adr/0005). Writing
// to the page cache is faster than any codec; a slow disk is slower. So the counter
// SPILLED_BYTES differs from run to run. A compressor belongs to one Writer and is not safe for
// several goroutines.
type compressor struct {
	codec Codec
	zstd  *zstd.Encoder
	write rate // of bytes written to the file
	tried rate // of raw bytes of blocks that were compressed, also in vain
	// Bytes that compression saved, over the blocks that tried counts.
	saved   int64
	untried int // blocks since the last one that was compressed
}

// rate is the time that a number of bytes took. Halving both numbers keeps their quotient, and
// gives older measurements less weight. So the rate follows a disk that becomes slower or
// faster.
type rate struct{ nanoseconds, bytes int64 }

const (
	rateBytes   = 8 << 20 // above this number, both numbers of a rate are halved
	retryBlocks = 128     // after as many uncompressed blocks, one is compressed to measure again

	// unpackCost is the time to compress and decompress, as a multiple of the time to
	// compress.
	unpackCost = 1.5
)

// add adds the time d that bytes took. It reports whether it halved the rate; the caller then
// halves the counts that belong to the rate.
func (r *rate) add(d time.Duration, bytes int) (halved bool) {
	r.nanoseconds += int64(d)
	r.bytes += int64(bytes)
	if r.bytes <= rateBytes {
		return false
	}
	r.nanoseconds, r.bytes = r.nanoseconds/2, r.bytes/2
	return true
}

// pays reports whether the next block is to be compressed.
func (c *compressor) pays() bool {
	if c.codec != Auto {
		return true
	}
	if c.write.bytes == 0 {
		return false // nothing was written yet
	}
	if c.tried.bytes == 0 || c.untried >= retryBlocks {
		return true
	}
	// cost and gain are in nanoseconds. The factor 2 stands for writing and reading back.
	cost := float64(c.tried.nanoseconds) * unpackCost
	gain := 2 * float64(c.saved) * float64(c.write.nanoseconds) / float64(c.write.bytes)
	return cost < gain
}

// maxPackedBytes is the length that the destination of pack must have.
var maxPackedBytes = s2.MaxEncodedLen(maxBlockBytes)

// pack compresses raw. It returns the codec and the compressed bytes, which lie in dst or in
// memory of the codec. It returns None if raw is to be stored as it is, because compression
// does not save time, or saves less than an eighth. dst has at least maxPackedBytes.
func (c *compressor) pack(dst, raw []byte) (codec Codec, packed []byte) {
	if c.codec == None || !c.pays() {
		c.untried++
		return None, nil
	}
	begun := time.Now()
	if codec = S2; c.codec == Zstd {
		codec, packed = Zstd, c.zstd.EncodeAll(raw, dst[:0])
	} else {
		packed = s2.Encode(dst, raw)
	}
	c.untried = 0
	// Compression that saves less costs more time in the merge than it saves.
	fits := len(packed) < len(raw)-len(raw)/8
	if fits {
		c.saved += int64(len(raw) - len(packed))
	}
	// saved and tried are halved together. Otherwise their quotient would jump.
	if c.tried.add(time.Since(begun), len(raw)) {
		c.saved /= 2
	}
	if !fits {
		return None, nil
	}
	return codec, packed
}

// newCompressor makes a compressor. It fails only for zstd. Only zstd has an encoder that must
// be closed (Writer.Close).
func newCompressor(codec Codec) (*compressor, error) {
	c := &compressor{codec: codec}
	if codec == Zstd {
		// One block is one frame: a larger window or a second thread would not be used.
		// Blocks have checksums of their own.
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(bufferBytes), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		c.zstd = enc
	}
	return c, nil
}

// decompressor unpacks blocks. It makes the zstd decoder at the first block that needs it. It
// belongs to one merge, whose cursors share it. It is not safe for several goroutines.
type decompressor struct{ zstd *zstd.Decoder }

// unpack writes the raw bytes of a block to dst, which has maxBlockBytes. It fails if stored is
// damaged or too long, and never writes behind dst.
func (d *decompressor) unpack(dst, stored []byte, h header) (err error) {
	var raw []byte
	switch h.codec {
	case S2:
		// The length is checked before s2 decodes, which would take memory for it.
		if n, lenErr := s2.DecodedLen(stored); lenErr != nil || n != h.rawBytes {
			return errFormat
		}
		raw, err = s2.Decode(dst[:h.rawBytes], stored)
	case Zstd:
		if d.zstd == nil {
			if d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxMemory(1<<20)); err != nil {
				return fmt.Errorf("zstd: %w", err)
			}
		}
		// The capacity of dst bounds the output, whatever length the frame claims.
		raw, err = d.zstd.DecodeAll(stored, dst[:0:maxBlockBytes])
	default:
		return errFormat
	}
	if err != nil {
		return err
	}
	// A result at another address means that dst was too small.
	if len(raw) != h.rawBytes || len(raw) > 0 && &raw[0] != &dst[0] {
		return errFormat
	}
	return nil
}
