package puma

import (
	"strconv"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// This file has a job that sorts binary records of fixed length by their first bytes. It is
// Hadoop's example TeraSort, which PUMA and the papers use. By default a record has 100 bytes and its
// key 10, as TeraGen makes them (mrlocal gen records). Records with equal keys keep their order.
//
// The engine samples the input for the bounds of the parts. The mapper passes whole blocks to the
// kvbuffer, so each record is copied once.
//
// Memory: the spans of a block.

// TeraSortOptions say what a record is.
type TeraSortOptions struct {
	Record string // fixed:BYTES[,key=BYTES]; "": fixed:100,key=10
}

// DefaultRecord is the record of TeraGen.
const DefaultRecord = "fixed:100,key=10"

// ParseRecord parses Options.Record. Without key=, the whole record is the key. It fails with
// an options error (package errs).
func ParseRecord(text string) (recordBytes, keyBytes int, err error) {
	if text == "" {
		text = DefaultRecord
	}
	wrong := errs.Fieldf("Options.Record", "%s: want fixed:BYTES,key=BYTES, with records of at most %d bytes, and keys of at least 1 byte and at most a record", text, jobs.MaxRecordBytes)
	size, ok := strings.CutPrefix(text, "fixed:")
	size, key, keyed := strings.Cut(size, ",key=")
	recordBytes, err = strconv.Atoi(size)
	if keyBytes = recordBytes; keyed && err == nil {
		keyBytes, err = strconv.Atoi(key)
	}
	if err != nil || !ok || recordBytes < 1 || recordBytes > jobs.MaxRecordBytes || keyBytes < 1 || keyBytes > recordBytes {
		return 0, 0, wrong
	}
	return recordBytes, keyBytes, nil
}

// NewTeraSort makes the job. It fails with an options error (package errs) if Record is wrong.
func NewTeraSort(o TeraSortOptions) (jobs.Chain, error) {
	recordBytes, keyBytes, err := ParseRecord(o.Record)
	if err != nil {
		return nil, err
	}
	job := jobs.Job{
		Name: "terasort", Ordered: true, BuiltIn: true, RecordBytes: recordBytes, Bare: true,
		NewMapper:  func() jobs.Mapper { return &teraSortMapper{bytes: recordBytes} },
		NewReducer: func() jobs.Reducer { return jobs.Identity{Out: jobs.KeyColumn} },
	}
	if keyBytes < recordBytes {
		job.AppendKey = func(dst, record []byte) []byte { return append(dst, record[:keyBytes]...) }
		job.NewReducer = func() jobs.Reducer { return jobs.Identity{Out: jobs.ValueColumn} }
	}
	return jobs.Chain{job}, nil
}

// teraSortMapper passes on records.
type teraSortMapper struct {
	bytes int         // length of a record
	spans []jobs.Span // of the current block; reused
}

// Map passes on the records of a block. The Emitter must be a jobs.Taker.
func (m *teraSortMapper) Map(b jobs.Block, out jobs.Emitter) error {
	m.spans = m.spans[:0]
	for at := 0; at < len(b.Data); at += m.bytes {
		m.spans = append(m.spans, jobs.Span{Off: uint32(at), Len: uint32(m.bytes)})
	}
	return lines.Take("terasort", b, m.spans, out)
}
