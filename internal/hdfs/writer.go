package hdfs

import (
	"cmp"
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
