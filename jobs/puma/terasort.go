package puma

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/internal/stats"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// The next job sorts binary records of fixed length by their first bytes. It is
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
	text = cmp.Or(text, DefaultRecord)
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

// The next job checks the result of a terasort (Hadoop's example
// TeraValidate). The keys of records must ascend within each file and from file to file, in the
// order in which the user names the files. The result has a line "error TAB …" for each violation,
// then "records TAB number" and "checksum TAB sum". The checksum is the sum of the CRC-32 of all
// records, in hexadecimal, as TeraChecksum prints it. A sort does not change it.
//
// A map emits the first and the last key of each block. The key of that record is the position of the
// block in the input. So the only reduce gets all blocks as one group, in the order of the input.
//
// Memory: two keys for each block.

// TeraValidateOptions are the lengths of a record and of its key, in bytes (ParseRecord).
type TeraValidateOptions struct{ RecordBytes, KeyBytes int }

// NewTeraValidate makes the job.
func NewTeraValidate(o TeraValidateOptions) (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "teravalidate", Reduces: 1, BuiltIn: true, ByFile: true, RecordBytes: o.RecordBytes,
		GroupBytes: func([]byte) int { return 0 }, // one group: the whole input
		NewMapper:  func() jobs.Mapper { return &teraValidateMapper{o: o} },
		NewReducer: func() jobs.Reducer { return &teraValidateReducer{o: o} },
	}}, nil
}

// teraValidateMapper checks blocks. key and value are scratch.
type teraValidateMapper struct {
	o          TeraValidateOptions
	key, value []byte
}

// Map checks a block. The key is the position of the block: file and offset. The value has four
// numbers of 8 bytes: records, sum of the CRC-32, violations, and offset of the first one. The
// first key, the last key and the path of the file follow.
func (m *teraValidateMapper) Map(b jobs.Block, out jobs.Emitter) error {
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

type teraValidateReducer struct{ o TeraValidateOptions }

// Reduce compares the first key of each block with the last key of the block before.
func (r *teraValidateReducer) Reduce(_ []byte, vs *jobs.Values, out jobs.Emitter) error {
	var records, sum uint64
	var last []byte
	for vs.Next() {
		v := vs.Value()
		keys := v[32:]
		first := keys[:r.o.KeyBytes]
		next := keys[r.o.KeyBytes : 2*r.o.KeyBytes]
		path := keys[2*r.o.KeyBytes:]
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

// This file has a job without input that writes random text (Hadoop's example
// RandomTextWriter). A record is "words TAB words", with 5 to 10 words in the key and 20 to 100 in
// the value. The words are drawn from 1,000. The text of a map depends only on the seed and on the
// number of the map.
//
// Memory: the words, once for each attempt, and a record.

// RandomTextOptions say how much text there is. The zero value works.
type RandomTextOptions struct {
	Bytes int64  // least length of the text of all maps together; 0: 64 MiB
	Maps  int    // number of map tasks; 0: one for each 8 MiB
	Seed  uint64 // 0 means 1
}

// Numbers of words, as in Hadoop.
const (
	words     = 1000 // different words
	leastKey  = 5
	mostKey   = 10
	leastRest = 20
	mostRest  = 100
)

// NewRandomText makes the job. It fails with an options error (package errs) if an option is out of
// range.
func NewRandomText(o RandomTextOptions) (jobs.Chain, error) {
	o.Bytes, o.Seed = cmp.Or(o.Bytes, 64<<20), max(o.Seed, 1)
	switch {
	case o.Bytes < 0:
		return nil, errs.Fieldf("Options.Bytes", "%d: must not be negative", o.Bytes)
	case o.Maps < 0 || o.Maps > 1<<20:
		return nil, errs.Fieldf("Options.Maps", "%d: must be from 1 to 1048576", o.Maps)
	}
	o.Maps = int(cmp.Or(int64(o.Maps), min(max(o.Bytes>>23, 1), 1<<20)))
	return jobs.Chain{{
		Name: "randomtext", NoInput: true, Maps: o.Maps, BuiltIn: true,
		NewMapper: func() jobs.Mapper { return &randomTextMapper{o: o} },
	}}, nil
}

// randomTextMapper writes the text of one task.
type randomTextMapper struct {
	o       RandomTextOptions
	attempt jobs.OwnAttempt
	random  uint64 // state of below
	words   []string
}

// Begin implements jobs.Attempter.
func (m *randomTextMapper) Begin(a jobs.OwnAttempt) { m.attempt = a }

// Map writes the text of a task: an equal share of Options.Bytes. The first tasks write one
// byte more if the shares are not whole.
func (m *randomTextMapper) Map(_ jobs.Block, out jobs.Emitter) error {
	m.random = 42
	for range words { // all seeds use the same words
		m.words = append(m.words, m.invent())
	}
	m.random = m.o.Seed*0xd1342543de82ef95 + uint64(m.attempt.Task)*0xa0761d6478bd642f
	want := m.o.Bytes / int64(m.o.Maps)
	if int64(m.attempt.Task) < m.o.Bytes%int64(m.o.Maps) {
		want++
	}
	var key, value []byte
	for written, n := int64(0), 0; written < want; n++ {
		key = m.sentence(key[:0], leastKey+m.below(mostKey-leastKey+1))
		value = m.sentence(value[:0], leastRest+m.below(mostRest-leastRest+1))
		out.Emit(key, value)
		written += int64(len(key) + len(value) + 2)
		if n%1024 == 0 {
			if err := m.attempt.Context.Err(); err != nil {
				return err
			}
			m.attempt.Progress(written, want)
		}
	}
	return nil
}

// sentence appends n words to dst.
func (m *randomTextMapper) sentence(dst []byte, n int) []byte {
	for i := range n {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, m.words[m.below(words)]...)
	}
	return dst
}

// invent returns a word of 2 to 5 syllables.
func (m *randomTextMapper) invent() string {
	var w []byte
	for range 2 + m.below(4) {
		w = append(w, "bcdfghklmnprstvz"[m.below(16)], "aeiou"[m.below(5)])
	}
	return string(w)
}

// below returns a random number below n, by SplitMix64.
func (m *randomTextMapper) below(n int) int {
	bits := stats.Bits(m.random)
	m.random += 0x9e3779b97f4a7c15
	return int(bits >> 33 % uint64(n))
}
