package streaming

import (
	"bufio"
	"errors"
	"io"
	"os"
)

// XML reads records between two marks (StreamXmlRecordReader). A record includes both
// marks. It belongs to the split in which it begins. One goroutine uses it.
type XML struct {
	begin, end string // the marks
	file       *os.File
	in         *bufio.Reader
	pos        int64                   // place in the file of the next byte
	limit      int64                   // place at which the split ends
	record     []byte                  // reused by Next
	charge     func(bytes int64) error // see ReaderOptions
}

// OpenXML opens a split for reading, from its start on. begin and end are the marks around
// a record, and must not be empty. The caller closes the XML. Only o.Charge is used.
func OpenXML(s FileSplit, begin, end string, o ReaderOptions) (*XML, error) {
	if begin == "" || end == "" {
		return nil, errors.New("StreamXmlRecordReader needs begin and end")
	}
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, err
	}
	x := &XML{begin: begin, end: end, file: f, pos: s.Start, limit: s.Start + s.Length, in: bufio.NewReaderSize(f, RecordBufferBytes), charge: o.Charge}
	if _, err := f.Seek(s.Start, io.SeekStart); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// Close closes the file.
func (x *XML) Close() { _ = x.file.Close() }

// Done returns the place in the file of the next byte.
func (x *XML) Done() int64 { return x.pos }

// Next returns the next record, borrowed until the next call. ok is false behind the last
// one. Next leaves out a record without its end mark, as Hadoop does.
func (x *XML) Next() (record []byte, ok bool, err error) {
	x.record = x.record[:0]
	// Text before the mark is skipped. x.pos is then behind the mark.
	if found, err := x.until(x.begin, false); err != nil || !found || x.pos-int64(len(x.begin)) >= x.limit {
		return nil, false, err
	}
	x.record = append(x.record, x.begin...)
	found, err := x.until(x.end, true)
	if err != nil || !found {
		return nil, false, err
	}
	return x.record, true, nil
}

// until reads up to the end of the next mark. It returns false at the end of the file. keep
// says that what it reads is appended to the record. After a byte that does not match, the
// search goes on behind that byte, as in Hadoop: it finds no "<a>" in "<<a>".
func (x *XML) until(mark string, keep bool) (bool, error) {
	m := 0 // bytes of mark that match so far
	for {
		c, err := x.in.ReadByte()
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		x.pos++
		if keep {
			if len(x.record) == cap(x.record) && cap(x.record) >= RecordBufferBytes && x.charge != nil {
				if err := x.charge(int64(cap(x.record))); err != nil {
					return false, err
				}
			}
			x.record = append(x.record, c)
		}
		if c != mark[m] {
			m = 0
			continue
		}
		if m++; m == len(mark) {
			return true, nil
		}
	}
}
