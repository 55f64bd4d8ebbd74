package hdfs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"
)

// Bounds of the answers of a server. A NameNode with its default settings stays below them.
const (
	mostAnswerBytes = 64 << 10  // of an answer without a list
	mostListBytes   = 128 << 20 // of a list: the attributes of about 450,000 files
	mostEntries     = 1 << 20   // of a Walk
	mostHeaderBytes = 64 << 10
	mostDepth       = 1000 // directories in a path
	mostRedirects   = 3

	// patience is the longest time until the header of an answer, and the longest time that its
	// body may take beyond that of leastBytesPerSecond.
	patience            = time.Minute
	leastBytesPerSecond = 1 << 10
)

var (
	errTooLong = errors.New("it is too long")
	errSlow    = errors.New("it is silent, or sends less than 1 KiB/s")
)

// wrong returns an error that blames the server for its answer to an operation.
func wrong(r *http.Request, format string, args ...any) error {
	return fmt.Errorf("the server %s gives a wrong answer to %s: %w", r.URL.Host, r.URL.Query().Get("op"), fmt.Errorf(format, args...))
}

// body is the body of an answer, with bounds for its bytes and for the time that a reader waits.
type body struct {
	io.ReadCloser
	leftBytes int64                   // Read fails with errTooLong behind them; negative: no bound
	patience  time.Duration           // the most time that may be left
	left      time.Duration           // Read fails with errSlow after it; bytes add to it
	ctx       context.Context         // of the request
	cancel    context.CancelCauseFunc // ends ctx
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	switch {
	case b.leftBytes == 0:
		return 0, errTooLong
	case b.leftBytes > 0:
		p = p[:min(int64(len(p)), b.leftBytes)]
	}
	start := time.Now()
	timer := time.AfterFunc(b.left, func() { b.cancel(errSlow) })
	n, err := b.ReadCloser.Read(p)
	timer.Stop()
	b.left = min(b.patience, b.left-time.Since(start)+time.Duration(n)*time.Second/leastBytesPerSecond)
	if err != nil && err != io.EOF && b.ctx.Err() != nil {
		err = context.Cause(b.ctx)
	}
	if b.leftBytes > 0 {
		b.leftBytes -= int64(n)
	}
	return n, err
}

// Close ends the request.
func (b *body) Close() error {
	b.cancel(nil)
	return b.ReadCloser.Close()
}

// decode decodes the JSON of an answer into to. The answer has at most the given number of bytes.
func decode(response *http.Response, most int64, to any) error {
	b, ok := response.Body.(*body)
	if !ok {
		return errors.New("the body of an answer has no bounds")
	}
	b.leftBytes = most
	text, err := io.ReadAll(b)
	if err == nil {
		err = cmp.Or(json.Unmarshal(text, to), once(json.NewDecoder(bytes.NewReader(text))))
	}
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		return wrong(response.Request, "%s is a %s", kind.Field, kind.Value)
	case errors.As(err, &syntax):
		return wrong(response.Request, "it is not JSON, or ends early")
	}
	return wrong(response.Request, "%w", err)
}

// once fails if an object in the next value has two members of a name. Package json takes names
// without regard to case, so once does so too. It allows anything else.
func once(d *json.Decoder) error {
	open, err := d.Token()
	if err != nil || open != json.Delim('{') && open != json.Delim('[') {
		return nil
	}
	seen := map[string]struct{}{}
	for d.More() {
		if open == json.Delim('{') {
			key, err := d.Token()
			if err != nil {
				return nil
			}
			name := strings.ToLower(fmt.Sprint(key))
			if _, is := seen[name]; is {
				return fmt.Errorf("two members %q in an object", brief(name))
			}
			seen[name] = struct{}{}
		}
		if err := once(d); err != nil {
			return err
		}
	}
	_, _ = d.Token() // the end of the object or array
	return nil
}

// status is FileStatus of WebHDFS. Package json matches the names of fields without regard to
// case.
type status struct {
	PathSuffix       string
	Type             string
	Length           *int64
	BlockSize        int64
	FileID           uint64
	ModificationTime int64
}

// file returns the status as a File. It fails if no file can have such attributes.
func (st *status) file() (File, error) {
	f := File{Name: st.PathSuffix, Dir: st.Type == "DIRECTORY", BlockBytes: st.BlockSize, ID: st.FileID, Modified: time.UnixMilli(st.ModificationTime)}
	switch {
	case !f.Dir && st.Type != "FILE":
		return f, fmt.Errorf("the type %q", brief(st.Type))
	case f.Dir:
		return f, nil
	case st.Length == nil:
		return f, errors.New("a file without a length")
	case *st.Length < 0:
		return f, fmt.Errorf("the length %d", *st.Length)
	case st.BlockSize < 0:
		return f, fmt.Errorf("the block size %d", st.BlockSize)
	}
	f.Bytes = *st.Length
	return f, nil
}

// checkName fails if no entry of a directory can have the name.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("an entry without a name")
	case name == "." || name == ".." || strings.ContainsAny(name, "/\x00"):
		return fmt.Errorf("an entry with the name %q", brief(name))
	}
	return nil
}

// brief returns the start of the first line of a text of the server, without control characters.
func brief(text string) string {
	const most = 200
	text, _, _ = strings.Cut(text, "\n")
	text = strings.ToValidUTF8(text[:min(len(text), most)], "")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
