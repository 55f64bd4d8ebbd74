package hdfs

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Writer writes a new file. Only one goroutine may call Write and Close; any goroutine may call
// Abort.
type Writer struct {
	pipe *io.PipeWriter // leads to the body of the request
	done chan error     // gets the result of the request
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
	r, err := http.NewRequest(http.MethodPut, where, read)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	w := &Writer{pipe: write, done: make(chan error, 1)}
	go func() {
		// This goroutine ends with the request: when the pipe is closed, or when the connection
		// breaks. done has room for the result, so the goroutine never waits.
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
		// A Write that waits gets the error too.
		if err == nil {
			read.Close()
		} else {
			read.CloseWithError(err)
		}
		w.done <- err
	}()
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

// Write sends p to the DataNode. If the request has ended, it returns the error of the request.
func (w *Writer) Write(p []byte) (int, error) { return w.pipe.Write(p) }

// Close ends the file and waits until the DataNodes have stored it. It is called once, and not
// after Abort.
func (w *Writer) Close() error {
	if err := w.pipe.Close(); err != nil {
		return err
	}
	return <-w.done
}

// Abort ends the connection. A part of the file may stay; the caller removes it.
func (w *Writer) Abort() { w.pipe.CloseWithError(errAborted) }
