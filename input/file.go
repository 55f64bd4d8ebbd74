package input

import (
	"bytes"
	"io"
	"io/fs"
	"math"
	"os"

	"mrlocal/hdfs"
	"mrlocal/input/codec"
)

// handle is an open input. A regular file is read through its descriptor. The
// runtime would register an os.File with its poller, which cannot watch files,
// and give it a finalizer. With 50,000 small files both cost a third of the
// time.
type handle struct {
	path   string
	raw    rawFile
	file   *os.File     // a FIFO or standard input, instead of raw; else nil
	remote *hdfs.Reader // a file of HDFS, instead of raw; else nil
	shared bool         // file is standard input, which several readers share, so only pread may be used
	closed bool
}

// Close closes the input. A second call returns fs.ErrClosed, and does not
// close the descriptor again, which could be another file by then.
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

// readAtLeast is ReadAt, but returns as soon as least bytes are there.
func (h *handle) readAtLeast(buf []byte, at int64, least int) (n int, err error) {
	if h.file != nil {
		return h.file.ReadAt(buf, at)
	}
	for n < least {
		var m int
		if h.remote != nil {
			m, err = h.remote.ReadAt(buf[n:], at+int64(n))
		} else {
			m, err = h.raw.pread(buf[n:], at+int64(n))
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

// open returns the file as the system knows it.
func (h *handle) open() rawFile {
	if h.file != nil {
		return rawFileOf(h.file)
	}
	return h.raw
}

// stat takes the attributes of the open file, not of its path, which may name another file
// by now.
func (h *handle) stat() (stat, error) {
	if h.remote != nil {
		return remoteStat(h.remote)
	}
	st, err := h.open().stat()
	return st, h.failed("stat", err)
}

// sizeIsMadeUp reports whether the file system gives sizes that say nothing
// about the content, as sysfs does.
func (h *handle) sizeIsMadeUp() bool { return h.remote == nil && h.open().sizeIsMadeUp() }

// failed gives err the form that package os gives it, as the raw calls return bare numbers.
func (h *handle) failed(op string, err error) error {
	if err == nil || h.remote != nil { // whose errors have the path
		return err
	}
	return &fs.PathError{Op: op, Path: h.path, Err: err}
}

// fromStart returns a reader of the file from its start.
func (h *handle) fromStart() io.Reader {
	if h.shared {
		return io.NewSectionReader(h.file, 0, math.MaxInt64)
	}
	return h
}

// open opens a file that was regular by the plan.
func (p *Plan) open(f *File, h *handle) error {
	if f.kind == regularStdin {
		*h = handle{path: f.Path, file: p.o.Stdin.(*os.File), shared: true}
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

// openNear is open for one of many files. If next, the file after it, lies in
// the same directory, both are opened relative to that directory.
func (p *Plan) openNear(f *File, h *handle, dir *near, next string) error {
	if f.kind != regular {
		return p.open(f, h)
	}
	raw, err := dir.open(f.Path, next)
	*h = handle{path: f.Path, raw: raw}
	return h.failed("open", err)
}

// openPlanned opens a regular file and makes sure that it is the planned one.
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

// headCodec reads the first bytes of a file and recognises its codec.
func (p *Plan) headCodec(f *File, h *handle) (codec.Codec, error) {
	var head [codec.HeadBytes]byte
	n, err := h.ReadAt(head[:min(codec.HeadBytes, f.Bytes)], 0)
	if err == io.EOF && h.sizeIsMadeUp() {
		err = nil
	} else if err == io.EOF {
		err = f.endedAt(int64(n))
	}
	if err != nil {
		return codec.None, err
	}
	return p.codecOf(f, head[:n]), nil
}

// codecOf recognises a file by its first bytes, unless nothing is decoded.
func (p *Plan) codecOf(f *File, head []byte) codec.Codec {
	if p.o.NoDecode {
		return codec.None
	}
	return codec.Of(f.Path, head)
}

// decoders makes the decoders of a reader.
func (p *Plan) decoders(mem Memory) codec.Decoders {
	if c, ok := mem.(Charger); ok {
		return codec.Decoders{Charge: c.Charge}
	}
	return codec.Decoders{}
}

// These are verdicts on a file, for SkipBinary. 0 means that there is none yet.
const (
	verdictText uint32 = iota + 1
	verdictBinary
)

// binaryHeadBytes is the length of the head in which a NUL byte makes a file
// binary.
const binaryHeadBytes = 64 << 10

// isBinary looks at the start of a file, once for all its splits. buf is
// scratch memory.
func (p *Plan) isBinary(file int32, h io.ReaderAt, buf []byte) (bool, error) {
	if v := p.binary[file].Load(); v != 0 {
		return v == verdictBinary, nil
	}
	buf = buf[:min(len(buf), binaryHeadBytes)]
	n, err := h.ReadAt(buf, 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	return p.judge(file, buf[:n], p.codecOf(&p.Files[file], buf[:n])), nil
}

// judge decides by the first bytes whether a file is binary, and remembers the
// verdict. Archives that are not decoded are binary too.
func (p *Plan) judge(file int32, head []byte, found codec.Codec) bool {
	binary := found.Refused() || bytes.IndexByte(head[:min(len(head), binaryHeadBytes)], 0) >= 0
	v := verdictText
	if binary {
		v = verdictBinary
	}
	p.binary[file].Store(v)
	return binary
}
