package hdfs

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Writer writes a new file. One goroutine calls Write and Close; Abort may be called from any.
type Writer struct {
	pipe *io.PipeWriter
	done chan error // the answer of the DataNode
}

// errAborted ends the connection of a file that is given up.
var errAborted = errors.New("the file was given up")

// Create makes the file name, which must not exist (fs.ErrExist). The file is whole when Close
// has succeeded.
func (s *FS) Create(name string) (*Writer, error) {
	where, err := s.place(name)
	if err != nil {
		return nil, err
	}
	read, write := io.Pipe()
	r, err := http.NewRequest(http.MethodPut, where, read)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	w := &Writer{pipe: write, done: make(chan error, 1)}
	go func() {
		// The goroutine ends with the request: when the pipe is closed, or when the connection
		// breaks. done has room for its answer, so it ends also if nobody waits.
		response, err := s.client.Do(r)
		if err == nil {
			defer response.Body.Close()
			if response.StatusCode != http.StatusCreated {
				err = refusal(response)
			}
		} else {
			err = cause(err)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		// A writer that waits gets the error too.
		if err == nil {
			read.Close()
		} else {
			read.CloseWithError(err)
		}
		w.done <- err
	}()
	return w, nil
}

// place asks the NameNode where the bytes of the new file go: the URL of a DataNode. A PUT
// with a body must not follow the redirection by itself, because the body would be sent to the
// NameNode first.
func (s *FS) place(name string) (string, error) {
	address, err := s.address(name, "CREATE", url.Values{"overwrite": {"false"}})
	if err != nil {
		return "", err
	}
	r, err := http.NewRequest(http.MethodPut, address, nil)
	if err != nil {
		return "", err
	}
	response, err := s.client.Do(r)
	if err != nil {
		return "", cause(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusTemporaryRedirect {
		return "", refusal(response)
	}
	return response.Header.Get("Location"), nil
}

// Write sends p to the DataNode. It returns the error of a connection that has ended.
func (w *Writer) Write(p []byte) (int, error) { return w.pipe.Write(p) }

// Close ends the file and waits until the DataNodes have it. It is called once, and not after
// Abort.
func (w *Writer) Close() error {
	if err := w.pipe.Close(); err != nil {
		return err
	}
	return <-w.done
}

// Abort gives the file up. A part of it may stay; the caller removes it.
func (w *Writer) Abort() { w.pipe.CloseWithError(errAborted) }
