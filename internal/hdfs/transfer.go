package hdfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"mrlocal/internal/errs"
)

// Reader reads a file. Only one goroutine may use it.
//
// A read that begins where the last one ended uses the same connection. Each new connection
// requests more bytes than the one before, so that reading a few bytes wastes few.
type Reader struct {
	fs    *FS
	name  string
	bytes int64 // length of the file

	body io.ReadCloser // of the current connection; nil: there is none
	at   int64         // offset in the file of the next byte of body
	end  int64         // offset behind the last byte of body
	from *http.Request // the request whose answer is body, after redirections
	ends bool          // the header has the length of body
	asks int64         // bytes that the next connection requests

	// The last bytes read. A reader of records goes back to the start of a record.
	back   []byte
	backAt int64 // offset in the file of back

	pos int64 // offset of the next Read
}

const (
	// In bytes: the length of back, and of the first and the largest request.
	backBytes     = 64 << 10
	leastAskBytes = 256 << 10
	mostAskBytes  = 128 << 20
)

// Open returns a reader of the file name, whose length is bytes. It does not connect yet.
func (s *FS) Open(name string, bytes int64) *Reader {
	return &Reader{fs: s, name: name, bytes: bytes, asks: leastAskBytes}
}

// ReadAt reads at least one byte at off, and at most len(p). At the end of the file it returns
// 0 and no error, as pread does, and not io.EOF as io.ReaderAt does. It fails if the connection
// ends early.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if len(p) == 0 || off >= r.bytes {
		return 0, nil
	}
	if off >= r.backAt && off < r.backAt+int64(len(r.back)) {
		return copy(p, r.back[off-r.backAt:]), nil
	}
	if r.body == nil || off != r.at || r.at == r.end {
		if err := r.connect(off, int64(len(p))); err != nil {
			return 0, err
		}
	}
	n, err := r.body.Read(p[:min(int64(len(p)), r.end-r.at)])
	r.at += int64(n)
	r.keep(p[:n])
	if n > 0 && r.at == r.end && !r.ends {
		if more, _ := r.body.Read(make([]byte, 1)); more > 0 {
			r.back = r.back[:0]
			return 0, fmt.Errorf("%s: %w", r.name, wrong(r.from, "more bytes than were asked for, up to byte %d of %d", r.end, r.bytes))
		}
	}
	switch {
	case n > 0:
		return n, nil // the next call returns an error again
	case r.fs.ctx.Err() != nil:
		return 0, fmt.Errorf("%s: %w", r.name, context.Cause(r.fs.ctx))
	case errors.Is(err, errSlow):
		return 0, fmt.Errorf("%s: at byte %d of %d: %w", r.name, r.at, r.bytes, wrong(r.from, "%w", err))
	// The body should have bytes up to r.end, so the connection was lost.
	case err == io.EOF || err == nil || errors.Is(err, io.ErrUnexpectedEOF):
		return 0, fmt.Errorf("%s: the connection was lost at byte %d of %d (server %s)", r.name, r.at, r.bytes, r.from.URL.Host)
	}
	return 0, fmt.Errorf("%s: at byte %d of %d: %w", r.name, r.at, r.bytes, cause(err, r.from.URL.Host))
}

// Read implements io.Reader. It begins at the start of the file.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.ReadAt(p, r.pos)
	if r.pos += int64(n); n == 0 && err == nil && len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

// Stat returns the attributes of the file that has the name now. The file may have been
// replaced since Open.
func (r *Reader) Stat() (File, error) {
	f, err := r.fs.Stat(r.name)
	return f, errs.About(r.name, err)
}

// keep saves p, the bytes that were read last. back then has the last backBytes bytes, or fewer
// after a jump.
func (r *Reader) keep(p []byte) {
	if r.at-int64(len(p)) != r.backAt+int64(len(r.back)) {
		r.back = r.back[:0]
	}
	if len(p) >= backBytes {
		r.back, p = r.back[:0], p[len(p)-backBytes:]
	} else if drop := len(r.back) + len(p) - backBytes; drop > 0 {
		r.back = r.back[:copy(r.back, r.back[drop:])]
	}
	if r.back == nil {
		r.back = make([]byte, 0, backBytes)
	}
	r.back = append(r.back, p...)
	r.backAt = r.at - int64(len(r.back))
}

// connect requests bytes from off on: at least wanted, if the file has them.
func (r *Reader) connect(off, wanted int64) error {
	_ = r.Close() // always nil
	length := min(max(r.asks, wanted), r.bytes-off)
	r.asks = min(4*r.asks, mostAskBytes)
	address, err := r.fs.address(r.name, "OPEN", url.Values{"offset": param(off), "length": param(length)})
	if err != nil {
		return err
	}
	response, err := r.get(address)
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	r.body = response.Body
	r.at = off
	r.end = off + length
	r.from = response.Request
	r.ends = response.ContentLength >= 0
	if response.ContentLength > length {
		err = wrong(r.from, "%d bytes, and %d were asked for", response.ContentLength, length)
	} else if off > 0 {
		err = r.heeds(address)
	}
	if err != nil {
		_ = r.Close() // always nil
		return fmt.Errorf("%s: %w", r.name, err)
	}
	return nil
}

// get sends a request for bytes of the file, and returns an answer with status 200.
func (r *Reader) get(address string) (*http.Response, error) {
	response, err := r.fs.send(http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	switch encoding := response.Header.Get("Content-Encoding"); {
	case response.StatusCode != http.StatusOK:
		err = refusal(response)
	case encoding != "" && encoding != "identity":
		err = wrong(response.Request, "the encoding %q", brief(encoding))
	default:
		return response, nil
	}
	response.Body.Close()
	return nil, err
}

// heeds fails if the server of the current connection ignores the parameter offset of address, so
// that it sends bytes of another place. It asks for two bytes at the last byte of the file: only a
// server that ignores offset has two. It asks each server once.
func (r *Reader) heeds(address string) error {
	host := r.from.URL.Host
	if _, known := r.fs.offsets.Load(host); known {
		return nil
	}
	// The address of the NameNode may lead to another DataNode.
	if r.from.URL.Query().Has("offset") {
		address = r.from.URL.String()
	}
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	query := u.Query()
	query["offset"], query["length"] = param(r.bytes-1), param(2)
	u.RawQuery = query.Encode()
	response, err := r.get(u.String())
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var two [2]byte
	switch n, err := io.ReadFull(response.Body, two[:]); {
	case n == 2:
		return wrong(r.from, "it ignores the offset %d", r.at)
	case n == 1 && err == io.ErrUnexpectedEOF:
		r.fs.offsets.Store(host, nil)
	}
	return nil // without a byte, the current connection shows what is wrong
}

// Close ends the connection. The Reader may be used again.
func (r *Reader) Close() error {
	if r.body != nil {
		_ = r.body.Close() // the rest of the body is not needed
		r.body = nil
	}
	return nil
}

// Writer writes a new file. Only one goroutine may call Write and Close; any goroutine may call
// Abort.
type Writer struct {
	fs    *FS
	name  string
	bytes int64
	pipe  *io.PipeWriter // leads to the body of the request
	ended atomic.Bool    // Close was called: the server may answer
	sent  errgroup.Group // the request
}

// errAborted ends the connection of a Writer that was aborted.
var errAborted = errors.New("the file was given up")

// Create makes the file name. If the file exists, it fails with fs.ErrExist, at the latest at
// Close. The file is whole only after a successful Close.
func (s *FS) Create(name string) (*Writer, error) {
	where, err := s.place(name)
	if err != nil {
		return nil, err
	}
	read, write := io.Pipe()
	w := &Writer{fs: s, name: name, pipe: write}
	w.sent.Go(func() error {
		// This goroutine ends with the request: when the pipe is closed, or when the connection
		// breaks, or the run ends.
		response, err := s.send(http.MethodPut, where, read)
		if err == nil {
			defer response.Body.Close()
			switch {
			case response.StatusCode != http.StatusCreated:
				err = refusal(response)
			case !w.ended.Load():
				err = wrong(response.Request, "%s before the end of the file", brief(response.Status))
			}
		}
		read.CloseWithError(errs.About(name, err)) // a Write that waits gets the error too
		return err
	})
	return w, nil
}

// place returns the URL of a DataNode for the bytes of the new file. It asks the NameNode
// without a body. If a PUT with a body followed the redirection, it would send the body to the
// NameNode first.
func (s *FS) place(name string) (string, error) {
	address, err := s.address(name, "CREATE", url.Values{"overwrite": {"false"}})
	if err != nil {
		return "", err
	}
	response, err := s.send(http.MethodPut, address, nil)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusTemporaryRedirect {
		return "", refusal(response)
	}
	where, err := response.Location()
	if err != nil || where.Host == "" || where.Scheme != "http" && where.Scheme != "https" {
		return "", wrong(response.Request, "no address of a DataNode")
	}
	return where.String(), nil
}

// Write sends p to the DataNode. If the request has ended, it returns the error of the request.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.pipe.Write(p)
	w.bytes += int64(n)
	if errors.Is(err, io.ErrClosedPipe) { // package http has closed its end before the goroutine of the request could
		err = cmp.Or(w.sent.Wait(), err)
	}
	return n, err
}

// Close ends the file and waits until the DataNodes have stored it. It makes sure that the file has
// all bytes. It is called once, and not after Abort.
func (w *Writer) Close() error {
	w.ended.Store(true)
	if err := w.pipe.Close(); err != nil {
		return err
	}
	if err := w.sent.Wait(); err != nil {
		return err
	}
	f, err := w.fs.Stat(w.name)
	switch host, _, _ := split(w.name); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: the server %s has not stored the file, but says so", w.name, cmp.Or(w.fs.o.Web, host))
	case err != nil:
		return fmt.Errorf("%s: %w", w.name, err)
	case f.Dir || f.Bytes != w.bytes:
		return fmt.Errorf("%s: the server %s has stored %d bytes of %d, but says so of all", w.name, cmp.Or(w.fs.o.Web, host), f.Bytes, w.bytes)
	}
	return nil
}

// Abort ends the connection. A part of the file may stay; the caller removes it.
func (w *Writer) Abort() { w.pipe.CloseWithError(errAborted) }
