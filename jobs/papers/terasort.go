package papers

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"mrlocal/errs"
	"mrlocal/jobs"
)

// TeraSortOptions say what a record is.
type TeraSortOptions struct {
	Record string // fixed:BYTES[,key=BYTES]; "": fixed:100,key=10
}

// DefaultRecord is the record of TeraGen.
const DefaultRecord = "fixed:100,key=10"

// ParseRecord reads Options.Record. Without key= the whole record is the key.
func ParseRecord(text string) (recordBytes, keyBytes int, err error) {
	if text == "" {
		text = DefaultRecord
	}
	wrong := errs.Optionf("Options.Record "+text, "want fixed:BYTES,key=BYTES, with records of at most %d bytes and keys of 1 byte to a record", jobs.MaxRecordBytes)
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

// TeraSort makes a job that sorts binary records of fixed size by the bytes with which they
// begin (Hadoop's example TeraSort, which PUMA and the papers use). By default a record has 100
// bytes and its key 10, as TeraGen makes them (mrlocal gen records). Records with equal keys
// keep their order.
//
// The engine samples the input for the bounds of the parts, and hands whole blocks to the
// kvbuffer, so a record is copied once.
//
// Memory: the spans of a block.
func TeraSort(o TeraSortOptions) (jobs.Chain, error) {
	recordBytes, keyBytes, err := ParseRecord(o.Record)
	if err != nil {
		return nil, err
	}
	job := jobs.Job{
		Name: "terasort", Ordered: true, BuiltIn: true, RecordBytes: recordBytes, Bare: true,
		NewMapper:  func() jobs.Mapper { return &recordMapper{bytes: recordBytes} },
		NewReducer: func() jobs.Reducer { return jobs.Identity{Out: jobs.KeyColumn} },
	}
	if keyBytes < recordBytes {
		job.AppendKey = func(dst, record []byte) []byte { return append(dst, record[:keyBytes]...) }
		job.NewReducer = func() jobs.Reducer { return jobs.Identity{Out: jobs.ValueColumn} }
	}
	return jobs.Chain{job}, nil
}

type recordMapper struct {
	bytes int // of a record
	spans []jobs.Span
}

// Map passes on the records of a block as they lie.
func (m *recordMapper) Map(b jobs.Block, out jobs.Emitter) error {
	taker, ok := out.(jobs.Taker)
	if !ok {
		return errors.New("terasort: the Emitter cannot take blocks (jobs.Taker)")
	}
	m.spans = m.spans[:0]
	for at := 0; at < len(b.Data); at += m.bytes {
		m.spans = append(m.spans, jobs.Span{Off: uint32(at), Len: uint32(m.bytes)})
	}
	if len(m.spans) > 0 {
		taker.Take(b, m.spans)
	}
	return nil
}

// TeraValidateOptions say what a record is, in bytes.
type TeraValidateOptions struct{ RecordBytes, KeyBytes int }

// TeraValidate makes a job that checks the result of a terasort (Hadoop's example
// TeraValidate): that records ascend by key within each file and from file to file, in the order
// in which files are given. The result is a line "error TAB …" for each place where they do not,
// then "records TAB number" and "checksum TAB sum". The sum is that of the CRC-32 of all records, in
// hexadecimal, as TeraChecksum prints it: a sort does not change it.
//
// A map emits the first and the last key of each block under the place of the block. The only
// reduce gets all blocks as one group, in the order of the input.
//
// Memory: two keys a block.
func TeraValidate(o TeraValidateOptions) (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "teravalidate", Reduces: 1, BuiltIn: true, RecordBytes: o.RecordBytes,
		GroupBytes: func([]byte) int { return 0 }, // one group: the whole input
		NewMapper:  func() jobs.Mapper { return &orderMapper{o: o} },
		NewReducer: func() jobs.Reducer { return &orderReducer{o: o} },
	}}, nil
}

type orderMapper struct {
	o          TeraValidateOptions
	key, value []byte
}

// Map checks a block. The key is its place in the input; the value is what stands in piece.
func (m *orderMapper) Map(b jobs.Block, out jobs.Emitter) error {
	var records, sum, wrong, at uint64
	var first, last []byte
	for r := range b.Fixed(m.o.RecordBytes) {
		key := r[:m.o.KeyBytes]
		if records == 0 {
			first = key
		} else if bytes.Compare(last, key) > 0 {
			if wrong++; wrong == 1 {
				at = uint64(b.Offset) + records*uint64(m.o.RecordBytes)
			}
		}
		last = key
		records++
		sum += uint64(crc32.ChecksumIEEE(r))
	}
	if records == 0 {
		return nil
	}
	m.key = binary.BigEndian.AppendUint32(m.key[:0], uint32(b.File))
	m.key = binary.BigEndian.AppendUint64(m.key, uint64(b.Offset))
	m.value = m.value[:0]
	for _, n := range []uint64{records, sum, wrong, at} {
		m.value = jobs.AppendUint64(m.value, n)
	}
	m.value = append(append(append(m.value, first...), last...), b.Path...)
	out.Emit(m.key, m.value)
	return nil
}

type orderReducer struct{ o TeraValidateOptions }

// Reduce compares each block with the one before it.
func (r *orderReducer) Reduce(_ []byte, vs *jobs.Values, out jobs.Emitter) error {
	var records, sum uint64
	var last []byte
	for vs.Next() {
		v := vs.Value()
		keys := v[32:]
		first, next, path := keys[:r.o.KeyBytes], keys[r.o.KeyBytes:2*r.o.KeyBytes], keys[2*r.o.KeyBytes:]
		if records > 0 && bytes.Compare(last, first) > 0 {
			out.Emit([]byte("error"), fmt.Appendf(nil, "%s: the record at byte %d is less than the one before it", path, binary.BigEndian.Uint64(vs.Key()[4:])))
		}
		if wrong := jobs.Uint64(v[16:]); wrong > 0 {
			out.Emit([]byte("error"), fmt.Appendf(nil, "%s: the record at byte %d is less than the one before it; %d such in a block", path, jobs.Uint64(v[24:]), wrong))
		}
		last = append(last[:0], next...)
		records += jobs.Uint64(v)
		sum += jobs.Uint64(v[8:])
	}
	out.Emit([]byte("records"), strconv.AppendUint(nil, records, 10))
	out.Emit([]byte("checksum"), strconv.AppendUint(nil, sum, 16))
	return nil
}
