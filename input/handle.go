package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"mrlocal/input/codec"
	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
)

// handle is an open input. A regular file is read through its descriptor, and not as an os.File.
// For each os.File the runtime calls its poller, which cannot watch files, and sets a finalizer.
// With 50,000 small files both take a third of the time.
type handle struct {
	path   string
	raw    rawFile
	remote Text  // a file of HDFS, a text or a FIFO, instead of raw; else nil
	shared bool  // raw is standard input: others share its offset, so only ReadAt may be used
	base   int64 // if it is shared: where the input begins in it
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
	if h.remote != nil {
		return h.remote.Close()
	}
	return h.failed("close", h.raw.close())
}

// Read reads on where the last call of Read ended.
func (h *handle) Read(buf []byte) (int, error) {
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

// stat returns the attributes of the open file. The path may name another file by now. A file of
// HDFS has no open file, so its attributes are those of the path. The bytes are those of the input.
func (h *handle) stat() (stat, error) {
	if r, ok := h.remote.(*hdfs.Reader); ok {
		f, err := r.Stat()
		return stat{bytes: f.Bytes, id: remoteIdentity(f)}, err
	}
	st, err := h.raw.stat()
	st.bytes -= h.base
	return st, h.failed("stat", err)
}

// sizeIsMadeUp reports whether sizes of the file system mean nothing, as in sysfs.
func (h *handle) sizeIsMadeUp() bool { return h.remote == nil && h.raw.sizeIsMadeUp() }

// failed adds operation and path to an error of a rawFile, as package os does. It returns nil for
// nil.
func (h *handle) failed(op string, err error) error {
	if err == nil || h.remote != nil { // errors of packages hdfs and os have the path already
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
		return fmt.Errorf("%s: %w: it had %s and has %d", shown(f.Path), ErrChanged, errs.Counted(f.Bytes, "byte"), st.bytes)
	case f.Bytes == 0:
		return nil
	case st.id != f.id:
		return fmt.Errorf("%s: %w", shown(f.Path), ErrChanged)
	}
	return nil
}

// endedAt returns the error of a file that has ended at offset, before its planned end.
func (f *File) endedAt(offset int64) error {
	return fmt.Errorf("%s: %w: it has no byte at offset %d and had %s when the run began", shown(f.Path), ErrChanged, offset, errs.Counted(f.Bytes, "byte"))
}

// Shorter returns the error of a file that has ended after read bytes, but had more when it was
// opened: bytes. It returns nil if the file has not ended early, or if its file system makes sizes
// up.
func Shorter(f *os.File, read, bytes int64) error {
	if read >= bytes || rawFileOf(f).sizeIsMadeUp() {
		return nil
	}
	return fmt.Errorf("%w: it has no byte at offset %d and had %s when it was opened", ErrChanged, read, errs.Counted(bytes, "byte"))
}
