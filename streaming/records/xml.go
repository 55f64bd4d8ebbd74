package records

import (
	"bufio"
	"errors"
	"io"
	"os"
)

// XML reads the elements between two marks (StreamXmlRecordReader). A record begins
// with Begin and ends with End, both included. It belongs to the split in which it
// begins. One goroutine uses it.
type XML struct {
	begin, end string
	file       *os.File
	in         *bufio.Reader
	pos, limit int64
	record     []byte
	charge     func(bytes int64) error
}

// OpenXML begins to read at the start of the split. A record that begins before it
// belongs to another split. The caller closes the XML.
func OpenXML(s Split, begin, end string, o ReaderOptions) (*XML, error) {
	if begin == "" || end == "" {
		return nil, errors.New("StreamXmlRecordReader needs begin and end")
	}
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, err
	}
	x := &XML{begin: begin, end: end, file: f, pos: s.Start, limit: s.Start + s.Length, in: bufio.NewReaderSize(f, BufferBytes), charge: o.Charge}
	if _, err := f.Seek(s.Start, io.SeekStart); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// Close gives the file back.
func (x *XML) Close() { _ = x.file.Close() }

// Done returns the place in the file behind the last byte read.
func (x *XML) Done() int64 { return x.pos }

// Next returns the next record, borrowed until the next call; ok is false behind the last
// one. A record without its end mark is left out, as in Hadoop.
func (x *XML) Next() (record []byte, ok bool, err error) {
	x.record = x.record[:0]
	// What lies before the mark is no record. The mark itself stays for the record.
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

// until reads behind the next mark. keep appends what it reads to the record. After a
// byte that does not match, the search goes on with the byte behind it, as in Hadoop:
// in "<<a>" it finds no "<a>".
func (x *XML) until(mark string, keep bool) (bool, error) {
	m := 0
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
			if len(x.record) == cap(x.record) && cap(x.record) >= BufferBytes && x.charge != nil {
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
