package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"mrlocal/input/codec"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
)

// Reader reads the blocks of a split. Each file that is not skipped gives at least one block. An
// empty file gives one block without data. A Reader belongs to one goroutine.
//
//	for r.Next() {
//		use(r.Block()) // a borrower that needs the data for longer takes the chunk over
//	}
//	err := r.Close()
type Reader struct {
	// OnSkipped, if not nil, is called once, by Close, with the indices of the files
	// that gave nothing because they are binary. If a file has several splits,
	// only the first one reports it. The slice belongs to the reader.
	OnSkipped func(files []int32)

	plan   *Plan
	pieces []Piece // still to be opened; the slice belongs to the Plan
	file   int32   // index of the open file
	length int64   // of its piece, in bytes
	src    source  // nil: no file is open
	handle handle  // of src
	dir    openDir // directory of the last file
	// src points to cut if it is one. It lies here by value, so that 50,000 small files make no
	// garbage.
	cut      cut
	hold     hold
	decoders codec.Decoders
	block    jobs.Block
	consumed int64 // bytes of finished pieces
	skipped  []int32
	again    bool // the split may have been read before: Reopen
	err      error
}

// Open returns a reader of a split. The first call of Next opens the first
// file. The caller closes the reader.
func (p *Plan) Open(s Split, mem Memory) *Reader {
	return &Reader{plan: p, pieces: s.Pieces, hold: hold{mem: mem}, decoders: p.decoders(mem)}
}

// Reopen returns a reader of a split that may have been read before. The results of that first
// reading may be in use, so the content must be the same. Reopen therefore compares the inode
// number and the time of the last change of small files too. Open only compares their length.
func (p *Plan) Reopen(s Split, mem Memory) *Reader {
	r := p.Open(s, mem)
	r.again = true
	return r
}

// Text is a text that does not change while it is read. ReadAt fills its buffer if the text has enough
// bytes.
type Text interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// OpenText returns a reader of a text that is not an input file, with the given number of bytes. The records end as o
// says. Blocks have the given path and number of a file. The reader closes t.
func OpenText(path string, file int32, t Text, bytes int64, o Options, mem Memory) *Reader {
	o.NoDecode = true
	p := &Plan{o: o, first: file, Files: []File{{Path: path, Bytes: bytes, kind: ofText}}}
	r := &Reader{plan: p, length: bytes, handle: handle{path: path, remote: t}, hold: hold{mem: mem}}
	r.cut = newCut(p, Piece{End: bytes}, &r.handle)
	r.src = &r.cut
	return r
}

// Next moves to the next block and reports whether there is one. It ends the loan of the current
// block.
func (r *Reader) Next() bool {
	r.hold.endLoan()
	for r.err == nil {
		if r.src == nil && !r.open() {
			break
		}
		b, err := r.src.next(&r.hold)
		switch {
		case err == nil:
			// Offset counts stored bytes of plain files, and decoded bytes of compressed ones.
			r.block = jobs.Block{Path: r.plan.Files[r.file].Path, File: r.plan.first + r.file, Input: r.plan.Files[r.file].input, Offset: b.off, Data: b.data, Last: b.last, Paired: r.plan.o.Paired}
			r.hold.loan = membudget.Loan{Chunk: r.hold.chunk}
			return true
		case err == io.EOF:
			s, ok := r.src.(*sequential)
			r.finish(ok && s.skipped)
		case err == errBinary:
			r.finish(true)
		case err == errCompressed:
			r.reopen()
		case r.plan.Missed(r.file, err):
			r.finish(false)
		default:
			r.err = err
		}
	}
	r.block = jobs.Block{}
	r.hold.free()
	return false
}

// open opens the next piece that is not skipped. It returns false if there is none, or after an
// error.
func (r *Reader) open() bool {
	for len(r.pieces) > 0 {
		pc := r.pieces[0]
		r.pieces = r.pieces[1:]
		skip, err := r.openPiece(pc)
		missed := err != nil && r.plan.Missed(pc.File, err)
		if err != nil && !missed {
			r.err = err
			return false
		}
		if !skip && !missed {
			return true
		}
		r.consumed += pc.End - pc.Start
		// The piece with the first byte of the file reports it, so that it is reported once.
		if pc.Start == 0 && !missed {
			r.skipped = append(r.skipped, pc.File)
		}
	}
	return false
}

// openPiece opens the file of pc and chooses its source: a cut, or a sequential for a file that is
// decoded or has no size. skip reports that the file is binary. After an error or a skip nothing
// stays open.
func (r *Reader) openPiece(pc Piece) (skip bool, err error) {
	f := &r.plan.Files[pc.File]
	r.file, r.length = pc.File, pc.End-pc.Start
	h := &r.handle
	small := f.kind != inHDFS && f.Bytes > 0 && f.Bytes < chunkBytes && pc.End-pc.Start == f.Bytes
	if small { // cut.fill checks whether it has changed, after it has read it
		next := ""
		if len(r.pieces) > 0 {
			next = r.plan.Files[r.pieces[0].File].Path
		}
		if err := r.plan.openIn(f, h, &r.dir, next); err != nil {
			return false, err
		}
	} else if err := r.plan.openPlanned(pc.File, h); err != nil {
		return false, err
	}
	// A file of size 0 may be one of /proc, which has content all the same.
	if f.Bytes == 0 || f.Codec != codec.None {
		return false, r.sequential(h)
	}
	r.cut = newCut(r.plan, pc, h)
	c := &r.cut
	c.atOnce = small && f.kind == regular && !r.again
	// If the piece is the whole file, cut.look judges the bytes that it reads anyway.
	if r.plan.o.SkipBinary && !c.probe {
		var buf []byte
		if buf, err = r.hold.take(int(min(f.Bytes, binaryHeadBytes))); err == nil {
			skip, err = r.plan.isBinary(pc.File, h, buf)
		}
		if skip || err != nil {
			return skip, errors.Join(err, h.Close())
		}
	}
	r.src = c
	return false, nil
}

// sequential makes a sequential of h the source.
func (r *Reader) sequential(h *handle) error {
	s, err := r.plan.newSequential(r.file, h, &r.decoders)
	if err == nil {
		r.src = s
	}
	return err
}

// reopen makes a sequential of the open file the source, because its first bytes have shown that
// it is compressed. Its descriptor still stands at the start: a cut uses only pread.
func (r *Reader) reopen() {
	h := r.src.(*cut).h
	r.src = nil
	if err := r.sequential(h); err != nil && !r.plan.Missed(r.file, err) {
		r.err = err
	}
}

// finish closes a piece that has been read to its end.
func (r *Reader) finish(skipped bool) {
	if skipped {
		r.skipped = append(r.skipped, r.file)
	}
	r.consumed += r.length
	r.err = r.src.Close()
	r.src = nil
}

// Block returns the current block.
func (r *Reader) Block() LentBlock { return LentBlock{r.block, &r.hold.loan, r.consumedBytes()} }

// consumedBytes returns how many stored bytes of the split have been read.
func (r *Reader) consumedBytes() int64 {
	if r.src == nil {
		return r.consumed
	}
	return r.consumed + min(r.src.consumedBytes(), r.length)
}

// Close gives back memory and files, and calls OnSkipped. It returns the error that ended the
// reading; nil: the end of the split. It may be called at any time, and more than once.
func (r *Reader) Close() error {
	if r.OnSkipped != nil {
		r.OnSkipped(r.skipped)
		r.OnSkipped = nil
	}
	if r.src != nil {
		r.src.Close()
		r.src = nil
	}
	r.pieces = nil
	r.dir.close()
	r.hold.endLoan()
	r.hold.free()
	r.decoders.Close()
	return r.err
}

const (
	chunkBytes = membudget.ChunkBytes
	// maxRecordBytes is the largest length that a jobs.Span can hold.
	maxRecordBytes = 1<<32 - 1
)

// LentBlock is a block of whole records, with the loan of the chunk in which
// its data lies. It is valid until the next call of Next or Close. A borrower
// that needs the data for longer takes the chunk over (membudget.Loan).
type LentBlock struct {
	jobs.Block
	Loan          *membudget.Loan
	ConsumedBytes int64 // how much of the source has been read, up to the end of this block
}

// hold has the one chunk that a reader holds between two calls of Next.
type hold struct {
	mem   Memory
	chunk *membudget.Chunk // nil: none
	loan  membudget.Loan   // of chunk
	taken bool             // a borrower has taken a chunk over, and may do so again
}

// endLoan ends the loan. If the borrower took the chunk over, hold has none any more.
func (h *hold) endLoan() {
	if h.loan.Taken() {
		h.chunk, h.taken = nil, true
	}
	h.loan = membudget.Loan{}
}

// take returns a buffer of at least the given number of bytes: the chunk if it is large enough, else a new one.
// One standard chunk serves all small files until a borrower takes a chunk over. From then on
// each file gets a chunk of its size, because the borrower keeps it.
func (h *hold) take(bytes int) ([]byte, error) {
	if !h.taken {
		bytes = max(bytes, chunkBytes)
	}
	if h.chunk != nil {
		n := len(h.chunk.Data)
		// A chunk above the standard size is used again only for another long record. Otherwise
		// one long record would keep its memory to the end of the split.
		if n >= bytes && (n <= chunkBytes || bytes > chunkBytes) {
			return h.chunk.Data, nil
		}
		h.free()
	}
	c, err := h.mem.Get(bytes)
	if err != nil {
		return nil, err
	}
	h.chunk = c
	return c.Data, nil
}

// free gives the chunk back, if there is one. endLoan must come first.
func (h *hold) free() {
	if h.chunk != nil {
		h.mem.Put(h.chunk)
		h.chunk = nil
	}
}

// block is a sequence of whole records in the held chunk.
type block struct {
	data []byte
	off  int64 // offset of data[0] in the file, or in its decoded text
	last bool  // the file ends with it
}

// source yields the blocks of one piece, and then io.EOF. A borrower may take over the chunk of a
// block before the next call of next.
type source interface {
	next(h *hold) (block, error)
	consumedBytes() int64
	io.Closer
}

// sourceState is how far a source has come. It never goes back to an earlier state.
type sourceState uint8

const (
	sourceNew     sourceState = iota // next was not called yet
	sourceReading                    // records may be left
	sourceRead                       // the last block was given out, or there was none
	sourceChecked                    // the same, and the file was found unchanged after that
)

func (s sourceState) String() string { return [...]string{"new", "reading", "read", "checked"}[s] }

// Next lists the states that may follow s, for checked builds.
func (s sourceState) Next() []sourceState {
	return [...][]sourceState{{sourceReading}, {sourceRead, sourceChecked}, {sourceChecked}, nil}[s]
}

// roomError returns the error of a record for which there is no memory.
func roomError(path string, off, bytes int64, err error) error {
	return fmt.Errorf("%s: record at offset %d of %d bytes: %w", shown(path), off, bytes, err)
}

// tooLong returns the error of a record above maxRecordBytes.
func tooLong(path string, off int64) error {
	return fmt.Errorf("%s: record at offset %d is longer than 4 GiB", shown(path), off)
}

// TextFile reads the decoded text of one file, or of standard input, for programs that have no Plan. Only
// one goroutine may use it.
type TextFile struct {
	path       string   // "-" is standard input
	file       *os.File // nil: standard input
	regular    *os.File // file or standard input, if this is a regular file; else nil
	at         int64    // the offset of regular when it was opened
	bytes      int64    // of regular from there to its end
	decode     codec.Decoders
	text       io.Reader // the decoded text
	decoded    int64     // bytes of text that were read
	compressed bool      // Leave may be called after Close
}

// TextOptions are the options of OpenTextFile.
type TextOptions struct {
	Stdin       io.Reader
	NoDecode    bool        // take the bytes of compressed files as they are
	WindowBytes int64       // the most memory that a decoder may take
	Warn        func(error) // is called if bytes follow the compressed data
}

// OpenTextFile opens the file at path, or takes the standard input of o for "-". Its errors name the file.
func OpenTextFile(path string, o TextOptions) (_ *TextFile, err error) {
	l := &TextFile{path: path}
	// Close leaves standard input open, because it belongs to the caller.
	var raw io.Reader = o.Stdin
	if path != "-" {
		f, err := disk.OpenInput(path)
		if err != nil {
			return nil, errs.Inputf(errs.Quote(path), "open failed: %w", errs.Cause(err))
		}
		l.file, raw = f, f
	}
	if f, ok := raw.(*os.File); ok {
		info, err := f.Stat()
		if err == nil && info.Mode().IsRegular() {
			l.at, _ = f.Seek(0, io.SeekCurrent) // a regular file has an offset, so this cannot fail
			l.regular, l.bytes = f, info.Size()-l.at
			// Other processes may share the offset of standard input, so only Leave moves it. In
			// /proc the size is 0, and pread may not work.
			if l.file == nil && l.bytes > 0 {
				raw = io.NewSectionReader(f, l.at, math.MaxInt64-l.at)
			}
		}
	}
	// As in a run, bytes after the end of the compressed data are only a warning.
	l.decode.Garbage = func(of codec.Codec) {
		o.Warn(fmt.Errorf("%s: trailing garbage behind the %s data is ignored", errs.Quote(path), of))
	}
	l.decode.Charge = func(bytes int64) (func(), error) {
		if bytes > o.WindowBytes {
			return nil, errs.Errorf("a decoder's window of %d bytes does not fit in memory; raise %s", bytes, errs.Field("Options.MemoryBytes"))
		}
		return func() {}, nil
	}
	if l.text, err = l.decode.Open(raw, o.NoDecode); err != nil {
		err = l.explain(err)
		l.Close()
		return nil, err
	}
	l.compressed = l.decode.Codec() != codec.None
	return l, nil
}

// Regular reports whether the text is that of a regular file, and not of standard input.
func (l *TextFile) Regular() bool { return l.file != nil && l.regular != nil }

// Read reads decoded text. Its errors name the file. A regular file that became shorter since it was opened
// is an error at its end.
func (l *TextFile) Read(p []byte) (int, error) {
	n, err := l.text.Read(p)
	l.decoded += int64(n)
	switch {
	case err == io.EOF && l.regular != nil && l.decode.Ended():
		// io.EOF alone does not show whether the file became shorter.
		if short := Shorter(l.regular, l.decode.StoredBytes(), l.bytes); short != nil {
			err = errs.Inputf(errs.Quote(l.path), "%w", short)
		}
	case err != nil && err != io.EOF:
		err = l.explain(err)
	}
	return n, err
}

// Leave sets the offset of standard input behind this number of bytes of its text, where a process that
// shares it reads on (POSIX.1-2017, XCU 1.4). A negative number stands for all. Of a compressed file
// all counts as used. Another input stays as it is.
func (l *TextFile) Leave(bytes int64) {
	if l.file != nil || l.regular == nil || l.bytes <= 0 {
		return
	}
	if bytes < 0 || bytes > l.bytes || l.compressed {
		bytes = l.bytes
	}
	_, _ = l.regular.Seek(l.at+bytes, io.SeekStart) // the result is complete, whatever the offset
}

// explain returns err with the name of the file and, for a compressed file, its format and the place
// of the error. It asks the decoders, so it must be called before Close.
func (l *TextFile) explain(err error) error {
	return errs.Inputf(errs.Quote(l.path), "read failed: %w", l.decode.Explain(err, l.decoded))
}

// Close closes the decoders and the file, but not standard input. It must not be called twice.
func (l *TextFile) Close() {
	l.decode.Close()
	if l.file != nil {
		l.file.Close() // nothing was written, so no error can be lost
	}
}

// handle is an open input. A regular file is read through its descriptor, and not as an os.File.
// For each os.File the runtime calls its poller, which cannot watch files, and sets a finalizer.
// With 50,000 small files both take a third of the time.
type handle struct {
	path   string
	raw    rawFile
	file   *os.File // a FIFO, instead of raw; else nil
	remote Text     // a file of HDFS or a text, instead of raw; else nil
	shared bool     // raw is standard input: others share its offset, so only ReadAt may be used
	base   int64    // if it is shared: where the input begins in it
	closed bool
}

// Close closes the input. A second call returns fs.ErrClosed. It does not close the descriptor
// again, because its number may belong to another file by then.
func (h *handle) Close() error {
	switch {
	case h.shared:
		return nil
	case h.closed:
		return h.failed("close", fs.ErrClosed)
	}
	h.closed = true
	switch {
	case h.file != nil:
		return h.file.Close()
	case h.remote != nil:
		return h.remote.Close()
	}
	return h.failed("close", h.raw.close())
}

// Read reads on where the last call of Read ended.
func (h *handle) Read(buf []byte) (int, error) {
	if h.file != nil {
		return h.file.Read(buf)
	}
	if h.remote != nil {
		return h.remote.Read(buf)
	}
	n, err := h.raw.read(buf)
	if n == 0 && err == nil && len(buf) > 0 {
		return 0, io.EOF
	}
	return n, h.failed("read", err)
}

// ReadAt implements io.ReaderAt.
func (h *handle) ReadAt(buf []byte, at int64) (int, error) { return h.readAtLeast(buf, at, len(buf)) }

// readAtLeast is ReadAt, but returns as soon as it has read least bytes.
func (h *handle) readAtLeast(buf []byte, at int64, least int) (n int, err error) {
	for n < least {
		var m int
		if h.remote != nil {
			m, err = h.remote.ReadAt(buf[n:], at+int64(n))
		} else {
			m, err = h.raw.pread(buf[n:], h.base+at+int64(n))
		}
		if err != nil {
			return n, h.failed("read", err)
		}
		if m == 0 {
			return n, io.EOF
		}
		n += m
	}
	return n, nil
}

// open returns the descriptor of the input, which is not a file of HDFS.
func (h *handle) open() rawFile {
	if h.file != nil {
		return rawFileOf(h.file)
	}
	return h.raw
}

// stat returns the attributes of the open file. The path may name another file by now. A file of
// HDFS has no open file, so its attributes are those of the path. The bytes are those of the input.
func (h *handle) stat() (stat, error) {
	if r, ok := h.remote.(*hdfs.Reader); ok {
		f, err := r.Stat()
		return stat{bytes: f.Bytes, id: remoteIdentity(f)}, err
	}
	st, err := h.open().stat()
	st.bytes -= h.base
	return st, h.failed("stat", err)
}

// sizeIsMadeUp reports whether sizes of the file system mean nothing, as in sysfs.
func (h *handle) sizeIsMadeUp() bool { return h.remote == nil && h.open().sizeIsMadeUp() }

// failed adds operation and path to an error of a rawFile, as package os does. It returns nil for
// nil.
func (h *handle) failed(op string, err error) error {
	if err == nil || h.remote != nil { // errors of package hdfs have the path already
		return err
	}
	return &fs.PathError{Op: op, Path: h.path, Err: err}
}

// open opens a file that can be read at any offset (kind.regular), and sets h.
func (p *Plan) open(f *File, h *handle) error {
	if f.kind == regularStdin {
		*h = handle{path: f.Path, raw: rawFileOf(p.o.Stdin.(*os.File)), shared: true, base: p.stdinAt}
		return nil
	}
	if f.kind == inHDFS {
		*h = handle{path: f.Path, remote: p.hdfs.Open(f.Path, f.Bytes)}
		return nil
	}
	raw, err := openRegular(f.Path)
	*h = handle{path: f.Path, raw: raw}
	return h.failed("open", err)
}

// openIn is open for one of many files. If next, the path of the file after it, lies in
// the same directory, it opens both relative to that directory.
func (p *Plan) openIn(f *File, h *handle, dir *openDir, next string) error {
	if f.kind != regular {
		return p.open(f, h)
	}
	raw, err := dir.open(f.Path, next)
	*h = handle{path: f.Path, raw: raw}
	return h.failed("open", err)
}

// openPlanned opens a file as open does. It fails if the file has changed since it was planned.
func (p *Plan) openPlanned(file int32, h *handle) error {
	f := &p.Files[file]
	if err := p.open(f, h); err != nil {
		return err
	}
	if err := f.unchanged(h); err != nil {
		h.Close()
		return err
	}
	return nil
}

// headCodec reads the first bytes of a file and returns its codec.
func (p *Plan) headCodec(f *File, h *handle) (codec.Codec, error) {
	var head [codec.HeadBytes]byte
	n, err := h.ReadAt(head[:min(codec.HeadBytes, f.Bytes)], 0)
	if err == io.EOF {
		if err = f.endedAt(int64(n)); h.sizeIsMadeUp() {
			err = nil
		}
	}
	return p.codecOf(head[:n]), err
}

// codecOf returns the codec of a file by its first bytes. With NoDecode it is codec.None or codec.UTF16.
func (p *Plan) codecOf(head []byte) codec.Codec {
	if p.o.UTF16 && codec.IsUTF16(head) {
		return codec.UTF16
	}
	if p.o.NoDecode {
		return codec.None
	}
	return codec.Of(head)
}

// decoders returns the decoders of a reader. They charge their windows to mem, if mem is a
// Charger.
func (p *Plan) decoders(mem Memory) codec.Decoders {
	d := codec.Decoders{UTF16: p.o.UTF16}
	if c, ok := mem.(Charger); ok {
		d.Charge = c.Charge
	}
	return d
}

// Verdicts on a file, for SkipBinary. 0 means that there is none yet.
const (
	verdictText uint32 = iota + 1
	verdictBinary
)

// binaryHeadBytes is the length of the head in which a NUL byte makes a file
// binary.
const binaryHeadBytes = 64 << 10

// isBinary reports whether a file is binary. It reads the start of the file, unless another split
// has judged the file already. buf is scratch memory.
func (p *Plan) isBinary(file int32, h io.ReaderAt, buf []byte) (bool, error) {
	if v := p.binary[file].Load(); v != 0 {
		return v == verdictBinary, nil
	}
	buf = buf[:min(len(buf), binaryHeadBytes)]
	n, err := h.ReadAt(buf, 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	return p.judge(file, buf[:n], p.codecOf(buf[:n])), nil
}

// judge reports by the first bytes whether a file is binary, and stores the verdict for its other
// splits. A file is binary if it has a NUL byte, or if it is an archive that cannot be decoded.
func (p *Plan) judge(file int32, head []byte, found codec.Codec) bool {
	binary := found.Refused() || bytes.IndexByte(head[:min(len(head), binaryHeadBytes)], 0) >= 0
	v := verdictText
	if binary {
		v = verdictBinary
	}
	p.binary[file].Store(v)
	return binary
}

// ErrChanged is the cause of errors about an input that has changed since the run began: it
// was replaced, truncated or written to.
var ErrChanged = errors.New("changed while it was being read")

// unchanged returns an error that wraps ErrChanged if h is not the planned file any more. If the
// file was empty, it compares only the size: in /proc inode number and time mean nothing. A Text does
// not change.
func (f *File) unchanged(h *handle) error {
	if f.kind == ofText {
		return nil
	}
	st, err := h.stat()
	if err != nil {
		return err
	}
	switch {
	case st.bytes != f.Bytes:
		return fmt.Errorf("%s: %w: it had %d bytes and has %d", shown(f.Path), ErrChanged, f.Bytes, st.bytes)
	case f.Bytes == 0:
		return nil
	case st.id != f.id:
		return fmt.Errorf("%s: %w", shown(f.Path), ErrChanged)
	}
	return nil
}

// endedAt returns the error of a file that has ended at offset, before its planned end.
func (f *File) endedAt(offset int64) error {
	return fmt.Errorf("%s: %w: it has no byte at offset %d and had %d bytes when the run began", shown(f.Path), ErrChanged, offset, f.Bytes)
}

// Shorter returns the error of a file that has ended after read bytes, but had more when it was
// opened: bytes. It returns nil if the file has not ended early, or if its file system makes sizes
// up.
func Shorter(f *os.File, read, bytes int64) error {
	if read >= bytes || rawFileOf(f).sizeIsMadeUp() {
		return nil
	}
	return fmt.Errorf("%w: it has no byte at offset %d and had %d bytes when it was opened", ErrChanged, read, bytes)
}
