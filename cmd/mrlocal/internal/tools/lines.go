package tools

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
	"mrlocal/input/codec"
	"mrlocal/jobs/sort"
	"mrlocal/output/compress"
)

const (
	// The merge of N files holds N buffers of this size, so they are small. A longer line moves
	// to a buffer of its own.
	lineBuffer     = 64 << 10 // bytes, of each file that is read line by line
	resultBuffer   = 256 << 10
	linesPerLookup = 4096 // between two looks at the context
)

// lineSource reads one file line by line, for -m. It holds one line and one
// buffer in memory.
type lineSource struct {
	name  string
	order *sort.Order
	delim byte

	file      *os.File
	decode    codec.Decoders
	r         *bufio.Reader
	sort.Line       // without the delimiter; valid until the next call of next
	number    int64 // of the line, from 1
	bytes     int64 // of all lines before, decoded, with their delimiters
	// long and keyText keep their memory from line to line, so that a line costs no allocation.
	// Line may point into them.
	long    []byte
	keyText []byte
}

// delimiter is the byte that ends a line.
func (s *sorter) delimiter() byte {
	if s.order.ZeroEnded {
		return 0
	}
	return '\n'
}

// open opens a file whose lines have keys, or standard input for "-". The caller closes
// the source.
func (s *sorter) open(name string, order *sort.Order) (*lineSource, error) {
	l := &lineSource{name: name, order: order, delim: s.delimiter()}
	r, err := l.open(s.Call)
	if err != nil {
		return nil, err
	}
	l.r = bufio.NewReaderSize(r, lineBuffer)
	return l, nil
}

// open opens the file of that name for a call. It returns its bytes, decoded.
func (l *lineSource) open(c *Call) (io.Reader, error) {
	// Standard input belongs to the caller and stays open.
	var raw io.Reader = c.Stdin
	if l.name != "-" {
		f, err := os.Open(l.name)
		if err != nil {
			return nil, errs.Inputf(argv.Quote(l.name), "open failed: %w", bare(err))
		}
		l.file, raw = f, f
	}
	// Compressed files are decoded as the engine decodes them, so that -c and -m see the same
	// lines as a sort.
	l.decode.Garbage = func(of codec.Codec) {
		c.complain(fmt.Errorf("%s: trailing garbage behind the %s data is ignored", argv.Quote(l.name), of))
	}
	r, err := l.decode.Open(raw, c.Options.NoDecode)
	if err != nil {
		l.close()
		return nil, errs.Inputf(argv.Quote(l.name), "%w", l.decode.Explain(err, 0))
	}
	return r, nil
}

// close closes the decoder and the file. It is not called twice.
func (l *lineSource) close() {
	l.decode.Close()
	if l.file != nil {
		l.file.Close() // nothing was written
	}
}

// next reads the next line and makes its key. It returns false at the end.
func (l *lineSource) next() (bool, error) {
	// The line stays in the buffer of the reader where it fits. That is the common case and
	// copies nothing.
	line, err := l.r.ReadSlice(l.delim)
	// The line is longer than the buffer of the reader, so its parts are put together in memory
	// of its own.
	if err == bufio.ErrBufferFull {
		l.long = append(l.long[:0], line...)
		for err == bufio.ErrBufferFull {
			line, err = l.r.ReadSlice(l.delim)
			l.long = append(l.long, line...)
		}
		line = l.long
	}
	switch {
	case err == io.EOF && len(line) == 0:
		return false, nil
	// A last line without a delimiter is a line too. It gets one in the output.
	case err == io.EOF:
	case err != nil:
		return false, errs.Inputf(argv.Quote(l.name), "read failed: %w", l.decode.Explain(err, l.bytes+int64(len(line))))
	default:
		line = line[:len(line)-1]
	}
	l.number++
	l.bytes += int64(len(line)) + 1
	// Some orders refuse a line, such as the order by JSON keys a line that is no JSON.
	if err := l.order.Check(line); err != nil {
		return false, errs.Inputf(argv.Quote(l.name), "line %d: %w", l.number, err)
	}
	l.keyText = l.keyText[:0]
	l.Line = sort.Line{Text: line, Key: l.order.Key(&l.keyText, line)}
	return true, nil
}

// merge does -m: it reads all files at once, line by line. Lines that compare equal
// come in the order of the files.
func (s *sorter) merge(ctx context.Context, order *sort.Order) error {
	// Memory: one buffer, one line and one key of each file. All files are open at once;
	// --batch-size does not apply here.
	var heap []*mergeSource
	defer func() {
		for _, m := range heap {
			m.close()
		}
	}()
	for i, name := range s.files {
		l, err := s.open(name, order)
		if err != nil {
			return err
		}
		more, err := l.next()
		if err != nil || !more {
			l.close()
			if err != nil {
				return err
			}
			continue
		}
		heap = append(heap, &mergeSource{lineSource: l, place: i})
	}
	// The output is opened after all inputs. It may be one of them, and is replaced only at the
	// end.
	result, err := s.openResult()
	if err != nil {
		return err
	}
	err = mergeInto(ctx, &heap, result, s.order.Unique)
	return result.end(err)
}

// mergeSource is a source in the heap; its place orders equal lines.
type mergeSource struct {
	*lineSource
	place int
}

func (m *mergeSource) less(o *mergeSource) bool {
	// The place makes the merge stable, as GNU sort -m is.
	c := m.order.Compare(&m.Line, &o.Line)
	return c < 0 || c == 0 && m.place < o.place
}

// mergeInto writes the lines of all sources in order. It closes and removes the sources
// that end. With unique, only the first of equal lines is written.
func mergeInto(ctx context.Context, sources *[]*mergeSource, w *result, unique bool) error {
	// The caller closes what is left in sources after an error, so sources always holds the open
	// ones.
	heap := *sources
	for i := len(heap)/2 - 1; i >= 0; i-- {
		siftDown(heap, i)
	}
	// last is the last line that was written. Only -u needs it.
	var last sort.Line
	// n counts the lines that were read from the heap, not those that were written.
	for n := 0; len(heap) > 0; n++ {
		top := heap[0]
		if !unique || n == 0 || top.order.Compare(&top.Line, &last) != 0 {
			if err := w.writeLine(top.Text, top.delim); err != nil {
				return err
			}
			if unique {
				last.Text, last.Key = append(last.Text[:0], top.Text...), append(last.Key[:0], top.Key...)
			}
		}
		more, err := top.next()
		if err != nil {
			return err
		}
		// The last source takes the place of the one that has ended. Its line may be too large
		// for the root, so it sinks.
		if !more {
			top.close()
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
			*sources = heap
		}
		siftDown(heap, 0)
		if n%linesPerLookup == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// siftDown restores the order of the heap below i.
func siftDown(heap []*mergeSource, i int) {
	for {
		// The sources below i are at 2i+1 and 2i+2; each is not less than the one at i.
		least := 2*i + 1
		if least >= len(heap) {
			return
		}
		if least+1 < len(heap) && heap[least+1].less(heap[least]) {
			least++
		}
		if !heap[least].less(heap[i]) {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}

// result is where a tool writes what the engine does not write itself: standard output,
// or a file that gets its name at the end.
type result struct {
	*bufio.Writer
	pack *compress.Writer // below the buffer; nil: the lines are written as they are
	file *os.File         // nil: standard output
	path string           // of the file at the end; "": file is a device or pipe
}

// openResult opens the output. The caller calls end.
func (c *Call) openResult() (*result, error) {
	path := c.Options.OutputFile
	if path == "" {
		r := &result{}
		return r, r.writeTo(c.Stdout, c.Options.CompressOutput)
	}
	// The file keeps the permissions of the one that it replaces. A new one gets those of the
	// umask.
	mode := os.FileMode(0o666)
	// The output follows a link: the file behind it is replaced, not the link.
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	r := &result{path: real}
	info, err := os.Stat(real)
	switch {
	case err == nil && info.IsDir():
		return nil, errs.Optionf("-o", "%s: is a directory", argv.Quote(path))
	// A device or pipe cannot be replaced. It is written in place, and nothing is removed after
	// an error.
	case err == nil && !info.Mode().IsRegular():
		r.path = ""
		r.file, err = os.OpenFile(real, os.O_WRONLY, 0)
	default:
		if err == nil {
			mode = info.Mode().Perm()
		}
		// The new file lies beside the old one, so that the rename stays in one file system. The
		// name begins with a dot and has the number of the process; an existing file of that
		// name is an error.
		name := filepath.Join(filepath.Dir(real), fmt.Sprintf(".%s-%d", filepath.Base(real), os.Getpid()))
		r.file, err = os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	}
	if err != nil {
		return nil, errs.Optionf("-o", "open failed: %s: %w", argv.Quote(path), bare(err))
	}
	if err := r.writeTo(r.file, c.Options.CompressOutput); err != nil {
		return nil, r.end(err)
	}
	return r, nil
}

// writeTo makes the lines go to w, compressed as format says.
func (r *result) writeTo(w io.Writer, format compress.Format) (err error) {
	if format != compress.None {
		if r.pack, err = compress.NewWriter(format, w); err != nil {
			return err
		}
		w = r.pack
	}
	r.Writer = bufio.NewWriterSize(w, resultBuffer)
	return nil
}

// writeLine writes a line and its delimiter. It buffers both; end reports what fails later.
func (r *result) writeLine(line []byte, delim byte) error {
	if _, err := r.Write(line); err != nil {
		return err
	}
	return r.WriteByte(delim)
}

// end completes the result, or removes it if err is not nil. It returns err, or what
// went wrong in the end. A reader that has gone is no error.
func (r *result) end(err error) error {
	if err == nil {
		err = r.Flush()
	}
	if err == nil && r.pack != nil {
		err = r.pack.Close()
	}
	if r.file != nil {
		if err == nil && r.path != "" {
			// The file is durable before it gets its name. A crash leaves the old file or the
			// new one, never a part.
			err = r.file.Sync()
		}
		err = errors.Join(err, r.file.Close())
		if r.path != "" && err == nil {
			err = os.Rename(r.file.Name(), r.path)
		}
		if r.path != "" && err != nil {
			_ = os.Remove(r.file.Name())
		}
	}
	// As in: mrlocal sort -m a b | head.
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}
