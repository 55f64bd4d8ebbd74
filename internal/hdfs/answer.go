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
	mostAnswerBytes = 64 << 10 // of an answer, or of one entry of a list
	mostOthers      = 100      // members of an object around the values
	mostEntries     = 1 << 20  // of a list or a Walk
	mostNameBytes   = 64 << 20 // names of a list together
	mostHeaderBytes = 64 << 10
	mostDepth       = 1000 // directories in a path
	mostReplicas    = 512  // of a block
	mostRedirects   = 3

	// patience is the longest time until the header of an answer, and the longest time that its
	// body may take beyond that of leastBytesPerSecond.
	patience            = time.Minute
	leastBytesPerSecond = 1 << 10
)

var (
	errTooLong = fmt.Errorf("more than %d KiB for one value", mostAnswerBytes>>10)
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

// answer is an answer of JSON that is being read.
type answer struct {
	*json.Decoder
	body    *body
	request *http.Request
}

// wrong returns an error that blames the server for the answer.
func (a *answer) wrong(format string, args ...any) error { return wrong(a.request, format, args...) }

// decode decodes the next value into to. The value has at most mostAnswerBytes.
func (a *answer) decode(to any) error {
	a.body.leftBytes = mostAnswerBytes
	var value json.RawMessage
	err := a.Decode(&value)
	if err == nil {
		err = cmp.Or(once(json.NewDecoder(bytes.NewReader(value))), json.Unmarshal(value, to))
	}
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		return a.wrong("%s is a %s", kind.Field, kind.Value)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return a.wrong("it ends early")
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return a.wrong("it is not JSON")
	}
	return a.wrong("%w", err)
}

// token reads the next token and fails if it is another one than want.
func (a *answer) token(want json.Delim) error {
	a.body.leftBytes = mostAnswerBytes
	got, err := a.Token()
	switch {
	case err != nil && a.body.ctx.Err() != nil:
		return a.wrong("%w", err)
	case err != nil || got != want:
		return a.wrong("it is not the JSON of WebHDFS")
	}
	return nil
}

// once fails if an object in the next value has two members of a name. Package json takes names
// without regard to case, so once does so too. It allows anything else, and ends at the first error of
// the syntax.
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

// object reads an object. It calls member once, at the value of the member name, and leaves out the
// other members. It fails if there is no such member, or if two members have one name.
func (a *answer) object(name string, member func() error) error {
	if err := a.token('{'); err != nil {
		return err
	}
	found, seen := false, map[json.Token]struct{}{}
	for a.More() {
		a.body.leftBytes = mostAnswerBytes
		key, err := a.Token()
		if err != nil {
			return a.wrong("it is not JSON")
		}
		if _, is := seen[key]; is {
			return a.wrong("two members %q in an object", brief(fmt.Sprint(key)))
		}
		if seen[key] = struct{}{}; len(seen) > mostOthers {
			return a.wrong("it has more than %d members", mostOthers)
		}
		if key == name {
			found, err = true, member()
		} else {
			var other json.RawMessage
			err = a.decode(&other)
		}
		if err != nil {
			return err
		}
	}
	if !found {
		return a.wrong("it has no member %s", name)
	}
	return a.token('}')
}

// list reads {outer: {inner: [...]}}. It calls entry once for each value of the array, with its
// index. entry decodes the value. A list has at most most entries.
func (a *answer) list(outer, inner string, most int, entry func(i int) error) error {
	return a.object(outer, func() error {
		return a.object(inner, func() error {
			if err := a.token('['); err != nil {
				return err
			}
			for i := 0; a.More(); i++ {
				if i == most {
					return a.wrong("it has more than %d entries", most)
				}
				if err := entry(i); err != nil {
					return err
				}
			}
			return a.token(']')
		})
	})
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
