package input

import (
	"bytes"

	"mrlocal/errs"
)

// This file knows where records end: behind a delimiter, or at each multiple of
// Options.RecordBytes.

// recordEnd returns the first place in data behind from at which a record ends; -1: none
// does. data begins at off of the file.
func (p *Plan) recordEnd(data []byte, off int64, from int) int {
	if r := int64(p.o.RecordBytes); r > 0 {
		if end := (off+int64(from))/r*r + r - off; end <= int64(len(data)) {
			return int(end)
		}
		return -1
	}
	if i := bytes.IndexByte(data[from:], p.o.Delim); i >= 0 {
		return from + i + 1
	}
	return -1
}

// lastRecordEnd returns the last place in data at which a record ends; 0: none does. data
// begins with a record.
func (p *Plan) lastRecordEnd(data []byte) int {
	if p.o.RecordBytes > 0 {
		return len(data) / p.o.RecordBytes * p.o.RecordBytes
	}
	return bytes.LastIndexByte(data, p.o.Delim) + 1
}

// wholeRecords refuses a file of so many bytes that ends inside of a binary record.
func (p *Plan) wholeRecords(file int32, bytes int64) error {
	if r := int64(p.o.RecordBytes); r > 0 && bytes%r != 0 {
		return errs.Inputf(shown(p.Files[file].Path), "it ends inside of a record of %d bytes, after %d bytes", r, bytes)
	}
	return nil
}
