// Package jobs is what a user of mrlocal writes: mappers, folders, reducers
// and the Job that binds them.
//
// A job's data goes Block → Mapper → Emitter (the kvbuffer) → Values →
// Reducer → Emitter (the output). The engine calls the constructors of a Job
// once per task attempt, so mappers and reducers keep scratch in their own
// fields and need no locks.
//
// Memory: every []byte handed to user code, and every []byte user code hands
// to an Emitter, is borrowed until the call returns, unless a method says
// otherwise. Copy what must live longer.
//
// Neighbours: wordcount, sort, grep and sleep below this folder are jobs; jobtest is
// the reference every job is checked against; package engine runs them.
package jobs

import (
	"context"
	"io"
)

// Span is a piece of Block.Data: Len bytes from Off. A block is smaller than
// 4 GiB.
type Span struct{ Off, Len uint32 }

// Block is a run of whole records of one input file. Records end with the
// job's delimiter; only the last record of a file may lack it. An empty file
// yields one Block without data, so that a mapper sees every file.
type Block struct {
	Path   string // as the user named it; "(standard input)" for -
	File   int32  // position of the file in the input order, from 0
	Offset int64  // of Data[0] in the file (decoded, where it is compressed)
	Data   []byte
	Last   bool // the file ends with this block
}

// Emitter takes a mapper's or reducer's results. Both slices are copied
// before Emit returns. Errors are sticky inside the Emitter and end the
// attempt; Emit also is where a killed attempt stops.
//
// A reducer's (or a map-only mapper's) records are written as text: key, TAB,
// value, delimiter; only the one that is there when the other is nil.
type Emitter interface {
	Emit(key, value []byte)
}

// Taker is an ability of the Emitter of a job that has a reduce side: Take
// hands the whole block to the kvbuffer, which refers to it and owns its
// memory from then on, so records are copied once, when they are written.
// Each span is one record without its delimiter, in ascending order. With
// Job.AppendKey the sort key is made from the record and the record becomes
// the value; without, the record is the key and the value is empty. A block
// may be taken at most once and not be written to afterwards; spans are
// borrowed.
type Taker interface {
	Take(b Block, records []Span)
}

// SpanEmitter is an ability of the Emitter of a job that has a reduce side:
// EmitSpans emits a record a span, whose key is the span of data, all with the
// same value. It does what a call of Emit for each would do, and is for mappers
// whose keys are short and many.
type SpanEmitter interface {
	EmitSpans(data []byte, keys []Span, value []byte)
}

// RawWriter is an ability of the Emitter of a map-only job: p goes to the
// split's output as it stands.
type RawWriter interface {
	WriteRaw(p []byte)
}

// Mapper maps one block of whole records. An error or a panic fails the
// attempt.
type Mapper interface {
	Map(b Block, out Emitter) error
}

// Flusher is an optional ability of a Mapper: Flush is called once, after the
// last block of the split.
type Flusher interface {
	Flush(out Emitter) error
}

// Attempt is what the user code of an attempt may know of itself.
type Attempt struct {
	Context context.Context // ends when the attempt is killed
	Task    int             // among those of its kind, from 0
	Number  int             // of attempts at the task, from 0

	// Progress is a sign of life: done of total. Code that works long on one
	// block or group calls it, from the goroutine it was called on.
	Progress func(done, total int64)
}

// Attempter is an optional ability of a Mapper or Reducer: Begin is called
// once, before its first block or group.
type Attempter interface {
	Begin(a Attempt)
}

// Folder makes the kvbuffer combine values while collecting. Fold must be
// associative and commutative. acc is nil for the first value of a key; the
// result may reuse acc's memory, and grow. The reducer sees folded values.
type Folder interface {
	Fold(acc, value []byte) []byte
}

// Reducer reduces one group: a key and its values. As a combiner it runs at
// spills, and must emit only the key it was given. key stays valid until
// Reduce returns; a value until the next call of Values.Next.
type Reducer interface {
	Reduce(key []byte, vs *Values, out Emitter) error
}

// Verdict is what a Releaser says after a split.
type Verdict uint8

const (
	Continue Verdict = iota
	EndFile          // no later split of the file that this split ends in is needed
	EndJob           // no later split at all is needed
)

// Releaser writes the final output of a map-only job. It is one object for
// the whole job, called from one goroutine at a time, once per split in input
// order, with everything the split's mapper wrote. What cannot be known inside
// a split (line numbers, counts of a file, limits) is resolved here.
type Releaser interface {
	Release(split io.Reader, w io.Writer) (Verdict, error)
	Finish(w io.Writer) error // after the last split
}

// RecordCounter is an optional ability of a Releaser: how many records it has
// released so far. Mappers that write raw cannot be counted from outside; the
// engine reports this number as the job's output records.
type RecordCounter interface {
	Records() int64
}

// Delim is what ends a record.
type Delim uint8

const (
	Newline Delim = iota
	NUL
)

// Byte is the delimiter itself.
func (d Delim) Byte() byte {
	if d == NUL {
		return 0
	}
	return '\n'
}

// Job is one MapReduce job. NewMapper is required. Without NewReducer the job
// is map-only. The zero value of everything else works.
type Job struct {
	Name    string
	Delim   Delim
	Reduces int  // reduce tasks; 0: by the size of the job
	Ordered bool // parts are ranges of keys: concatenated they are a sorted whole

	// NoInput is a job that reads nothing: it has Maps map tasks, and each is
	// given one block without data.
	NoInput bool
	Maps    int

	// Begin, when set, is called once with the number of input files before
	// any other function of the Job.
	Begin func(files int)

	NewMapper   func() Mapper
	NewFolder   func() Folder   // nil: no hash-combining
	NewCombiner func() Reducer  // nil: none; not together with NewFolder
	NewReducer  func() Reducer  // nil: map-only
	NewReleaser func() Releaser // map-only jobs: nil writes what mappers emitted, in input order

	// AppendKey appends to dst the byte-comparable sort key of a record given
	// to Taker.Take. It is called from several goroutines. Emitted keys are
	// sorted as they are.
	AppendKey func(dst, record []byte) []byte

	// Partition says which of parts a key belongs to. nil: by range when
	// Ordered, else by hash. Called from several goroutines.
	Partition func(key []byte, parts int) int

	// SkipBinary leaves out files with a NUL byte in their first 64 KiB.
	SkipBinary bool

	// BuiltIn jobs never show a stack when an attempt fails.
	BuiltIn bool
}

// Chain is jobs run one after the other: the text that one writes, in part
// order, is the input of the next. All but the last need a reducer.
type Chain []Job
