// Package jobs holds what a user of mrlocal writes: mappers, reducers, and the
// Job that binds them. It defines the interfaces and the data that pass between
// user code and the engine; it runs nothing.
//
// The smallest job is two functions:
//
//	job := jobs.Job{
//		Name:       "lengths",
//		NewMapper:  func() jobs.Mapper { return jobs.MapperFunc(mapLengths) },
//		NewReducer: func() jobs.Reducer { return jobs.NewSum() },
//	}
//
// The data of a job passes these stations:
//
//	Block ──► Mapper ──Emitter──► kvbuffer: sort, fold ──► Values ──► Reducer ──Emitter──► output
//
// Goroutines: the engine calls the constructors of a Job once for each attempt
// at a task. It uses what a constructor returns from one goroutine at a time.
// So mappers and reducers may keep scratch memory in their fields, and need no
// locks. Functions of a Job that several goroutines call say so.
//
// Memory: user code borrows every []byte that it gets, until its call returns.
// The engine borrows every []byte that user code passes to an Emitter, until
// that call returns. Methods say where this differs. Copy what must live
// longer.
//
// Errors: an error that a method returns, and a panic, fails the attempt. The
// engine starts the task again, up to a number of attempts.
//
// Optional abilities: a Mapper may be a Flusher and an Attempter too, a Reducer
// an Attempter, a Folder a Summer, a Releaser a RecordCounter. An Emitter may be
// a Taker, a SpanEmitter or a RawWriter. Each of these interfaces has one
// method. Whoever may use it finds it with a type assertion.
//
// Neighbours: the packages below this one are jobs (wordcount, count, sort, grep,
// sleep); package jobs/jobtest runs any job in memory, as a reference for
// tests; package mrlocal runs a job on files.
package jobs

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"mrlocal/errs"
)

// Span is a range of Block.Data: Len bytes, from Off on. A block has less than
// 4 GiB, so 32 bits are enough.
type Span struct{ Off, Len uint32 }

// Block is a sequence of whole records from one input file. Each record ends
// with the delimiter of the job; only the last record of a file may lack it.
// Records of fixed size (Job.RecordBytes) have no delimiter. A
// block may hold one record or thousands. An empty file gives one Block without
// data, so that a mapper sees every file.
type Block struct {
	Path   string // as the user named it; "(standard input)" for -
	File   int32  // index of the file in the order of the input, from 0
	Input  int32  // index of the input that the file belongs to, in the order in which the user named inputs, from 0
	Offset int64  // place of Data[0] in the file, in bytes; of compressed files, in the decoded text
	Data   []byte // borrowed until Map returns
	Last   bool   // the file ends with this block
}

// Emitter takes the results of a mapper or a reducer. Emit copies key and value
// before it returns, so the caller may reuse both. Emit returns no error: the
// Emitter keeps the first one, and the engine ends the attempt with it. An
// attempt that is killed stops inside Emit, which then does not return: it panics, and
// the engine recovers. Deferred calls run.
//
// What a mapper emits goes to the reducers. What a reducer emits, or the mapper
// of a job without reducers, is written as text: key, TAB, value, delimiter. If
// key or value is nil, the other one is written alone, without TAB. With Job.Bare
// there is neither TAB nor delimiter.
type Emitter interface {
	Emit(key, value []byte)
}

// Taker is an ability of the Emitter that a mapper gets, if the job has
// reducers. Take passes a whole block to the kvbuffer, which keeps references
// into it instead of copies. A job that moves records as they are, such as a
// sort, copies each record only once.
//
// Each of records is one record of b without its delimiter, in ascending order;
// the slice is borrowed. If Job.AppendKey is set, it makes the key from the
// record, and the record is the value. If not, the record is the key, and the
// value is empty. From the call on, the kvbuffer owns the memory of the block:
// the mapper may pass a block at most once and must not write to it.
type Taker interface {
	Take(b Block, records []Span)
}

// SpanEmitter is an ability of the Emitter that a mapper gets, if the job has
// reducers. EmitSpans emits one record for each span: its key is the span of
// data, its value is value. It does what one call of Emit for each span would
// do, and is faster for many short keys. All slices are borrowed. The function
// EmitSpans of this package works with every Emitter.
type SpanEmitter interface {
	EmitSpans(data []byte, keys []Span, value []byte)
}

// RawWriter is an ability of the Emitter of a job without reducers. WriteRaw
// appends p, which is borrowed, to the output of the split as it is.
type RawWriter interface {
	WriteRaw(p []byte)
}

// Mapper is the map function of a job. Map is called for each block of a split,
// in the order of the input, and emits any number of records. b.Data is borrowed
// until Map returns, unless Taker.Take passed it on.
type Mapper interface {
	Map(b Block, out Emitter) error
}

// MapperFunc makes a Mapper of a function. Such a mapper has no state, so one
// may serve all attempts.
type MapperFunc func(b Block, out Emitter) error

// Map calls f.
func (f MapperFunc) Map(b Block, out Emitter) error { return f(b, out) }

// Flusher is an optional ability of a Mapper or a Reducer. Flush is called once,
// after the last block or group: what was collected over blocks or groups is
// emitted here. A reducer without groups is flushed too.
//
// A combiner that is a Flusher is flushed after the groups of each partition. It
// may emit other keys than those that it was given, in ascending order of the
// partition.
type Flusher interface {
	Flush(out Emitter) error
}

// RecordReducer is an optional ability of a Reducer to which groups mean nothing, such as
// one that writes all records to a program. ReduceRecord then gets each record in the place
// of Reduce, in the same order. Key and value are borrowed until it returns. Combiners and jobs
// with GroupBytes use Reduce.
type RecordReducer interface {
	ReduceRecord(key, value []byte, out Emitter) error
}

// OwnAttempt says for which attempt, and at which task, a mapper or reducer works.
type OwnAttempt struct {
	Context context.Context // done when the attempt is killed
	Task    int             // number of the task among the maps or reduces of the job, from 0
	Number  int             // number of the attempt at this task, from 0

	// Progress reports done of total units of work, of any size. Each call shows
	// that the attempt is alive; an attempt without progress for the timeout of
	// tasks fails. Code that works long on one block or group calls it, from the
	// goroutine on which it was called itself.
	Progress func(done, total int64)

	// Lasts says that what is left of the attempt's work takes total, because time alone
	// gets it done, as in a job that sleeps. How far the attempt is can then be read at any
	// moment, and Progress is a sign of life only. Nil: nobody wants to know.
	Lasts func(total time.Duration)

	// Side is the side data of the job, the same for each attempt; nil: there is none. It is
	// shared, and must not be changed. See Job.Rereads.
	Side []byte

	// Output returns the Emitter of one of Job.Outputs, which writes as that of the attempt does.
	// The file is made with the first call for a name. An attempt that asks for another name
	// fails, as does a map of a job with reducers. Nil: the job has none.
	Output func(name string) Emitter

	// Read counts records, and their bytes, that a map of a job without input has read
	// from a source of its own. Nil: nobody wants to know.
	Read func(records, bytes int64)

	// Status says in a few words what the attempt does, for those who watch the run. Of texts that
	// come fast, or are long, not all is kept. Nil: nobody wants to know.
	Status func(text string)

	// Charge counts bytes of memory that the attempt takes beside its blocks
	// against the bound of the run, until the attempt ends. It reports false, and
	// counts nothing, if there is no room. Nil: no bound applies.
	Charge func(bytes int64) bool
}

// Attempter is an optional ability of a Mapper or a Reducer, also of one that
// combines. Begin is called once, before the first block or group. If it
// is an io.Closer too, it is closed when the attempt has ended, however that was.
type Attempter interface {
	Begin(a OwnAttempt)
}

// Folder combines the values of a key while the map collects them (Hadoop calls
// this in-mapper combining). The kvbuffer holds one accumulator for each key in
// a hash table, so that repeated keys take no memory and no sorting.
//
// Fold returns acc with value folded in. acc is nil for the first value of a
// key. The result may be acc itself, changed or longer; it must not refer to
// value, which is borrowed. Fold must be associative and commutative, because
// values are folded in any order, and folded values are folded again. The
// reducer gets folded values, one or several for each key.
type Folder interface {
	Fold(acc, value []byte) []byte
}

// Summer is an optional ability of a Folder whose Fold does exactly what
// Sum.Fold does, such as one that wraps a Sum. The kvbuffer then adds the values
// in its table, about five times as fast, and never calls Fold. Sums is not called
// either: the method is a statement.
//
// Sum does not have the method. So a type that embeds Sum and changes Fold is
// not taken for a sum by mistake. A type that embeds Sum and keeps Fold adds the
// method, to be fast.
type Summer interface {
	Folder
	Sums()
}

// Reducer is the reduce function of a job. Reduce is called for each group: a
// key, and all values that were emitted with it. Groups come in ascending byte
// order of their keys. key is borrowed until Reduce returns, a value until the
// next call of vs.Next. Reduce need not read all values.
//
// As a combiner (Job.NewCombiner), a Reducer runs on the part of a group that is
// in memory when the kvbuffer spills. It must then emit no key but the one it
// was given.
type Reducer interface {
	Reduce(key []byte, vs *Values, out Emitter) error
}

// ReducerFunc makes a Reducer of a function. Such a reducer has no state, so one
// may serve all attempts.
type ReducerFunc func(key []byte, vs *Values, out Emitter) error

// Reduce calls f.
func (f ReducerFunc) Reduce(key []byte, vs *Values, out Emitter) error { return f(key, vs, out) }

// Verdict says how much of the input a Releaser still needs.
type Verdict uint8

const (
	Continue Verdict = iota // all of it
	EndFile                 // no later split of the file in which this split ends
	EndJob                  // nothing
)

// Releaser writes the final output of a job without reducers. There is one
// Releaser for the whole job. The engine calls it from one goroutine at a time.
//
// Release is called once for each split, in the order of the input. split is
// what the mapper of that split wrote, borrowed until Release returns; Release
// writes to w what becomes of it. What a mapper cannot know inside a split is
// decided here: line numbers, counts of a whole file, limits. Finish is called
// after the last split.
type Releaser interface {
	Release(split io.Reader, w io.Writer) (Verdict, error)
	Finish(w io.Writer) error
}

// RecordCounter is an optional ability of a Releaser. Records returns how many
// records were released so far; the engine reports it as the output records of
// the job. The engine cannot count what mappers write with WriteRaw.
type RecordCounter interface {
	Records() int64
}

// Delim is the byte that ends a record.
type Delim uint8

const (
	Newline Delim = iota // '\n'
	NUL                  // 0
)

// Byte returns the delimiter itself.
func (d Delim) Byte() byte {
	if d == NUL {
		return 0
	}
	return '\n'
}

// Job is one MapReduce job. NewMapper is required. If NewReducer is nil, the job
// has no reducers: what mappers emit is the result. All other fields may be zero.
//
// Constructors are called once for each attempt at a task, from several
// goroutines at a time.
type Job struct {
	Name    string // for messages and reports
	Delim   Delim  // ends the records of input and output
	Reduces int    // number of reduce tasks; 0: chosen by the size of the input

	// RecordBytes, if it is not 0, says that input consists of binary records of so many
	// bytes, without delimiters. Input is then never decoded. At most MaxRecordBytes.
	RecordBytes int
	Bare        bool // output is key and value side by side, without TAB and delimiter: binary records

	// Ordered gives each reduce task a range of keys. The parts of the output,
	// one after the other, are then sorted as a whole. The engine samples the
	// input for the bounds of the ranges. If Ordered is false, keys are divided
	// by hash.
	Ordered bool

	// NoInput is set for a job that reads nothing: it has Maps map tasks, and
	// each gets one block without data.
	NoInput bool
	Maps    int

	// Timed is set for a job without input whose tasks say with OwnAttempt.Lasts how
	// long they take. Before the first report they count as not begun.
	Timed bool

	// Begin, if set, is called once in each run with the number of input files,
	// before any other function. It returns the Job that runs in place of this one;
	// that Job has the same functions except Begin.
	Begin func(files int) Job

	NewMapper   func() Mapper
	NewFolder   func() Folder   // nil: values are not folded
	NewCombiner func() Reducer  // nil: no combiner; only one of NewFolder and NewCombiner may be set
	NewReducer  func() Reducer  // nil: the job has no reducers
	NewReleaser func() Releaser // only without reducers; nil: what mappers emitted is written in the order of the input

	// AppendKey appends the sort key of a record to dst and returns the result.
	// Keys are compared byte by byte. Only records passed to Taker.Take need
	// it; what Emit emits has its key already. Several goroutines call it.
	AppendKey func(dst, record []byte) []byte

	// Partition returns the reduce task, from 0 to parts-1, that gets a key. If
	// it is nil, keys are divided by range or hash (see Ordered). Several
	// goroutines call it.
	Partition func(key []byte, parts int) int

	// GroupBytes, if set, returns how many of the first bytes of a key name its group. Reduce
	// is called once for all keys of a group, with the first of them, and Values.Key is the
	// key of the value at hand. So values come in the order of the rest of their keys
	// (Hadoop's secondary sort). All keys of a group go to one reduce. No group may begin
	// with the bytes of another one: let it end with a byte that it does not contain. Several
	// goroutines call it.
	GroupBytes func(key []byte) int

	// Rereads makes a later job of a chain read the input of the chain, as the first job
	// does. What the job before has written is then the side data of each attempt
	// (OwnAttempt.Side), at most MaxSideBytes. Other jobs get the side data that the user
	// of the chain names, if any.
	Rereads bool

	// Rounds makes a job that Rereads run several times, at most so often. What a round has
	// written is the side data of the next one. The rounds end when Converged, which gets the
	// side data of a round and what the round has written, returns true; nil: never. The last
	// job of a chain cannot have Rounds. 0 means 1.
	Rounds    int
	Converged func(before, after []byte) bool

	// Outputs are the names of further outputs, which what writes the result may write to with
	// OwnAttempt.Output: a reducer, or the mapper of a job without reducers (Hadoop's
	// MultipleOutputs). Output errors of reduce 3 is the file errors-r-00003 beside part-r-00003.
	// It is committed with the part, so nothing of an attempt that fails or is killed stays. A
	// name has letters and digits, and is not part. At most MostOutputs. The result has to be a
	// directory, and is that of the last job of a chain, without NewReleaser.
	Outputs []string

	// SkipBinary leaves out files with a NUL byte in their first 64 KiB.
	SkipBinary bool

	// BuiltIn is set for the jobs of this module: a failed attempt never prints
	// a stack.
	BuiltIn bool
}

// Bounds of a Job: of the bytes of a binary record; of side data, which each run keeps
// beside its bound of memory; of named outputs, each an open file of each attempt.
const (
	MaxRecordBytes = 64 << 10
	MaxSideBytes   = 8 << 20
	MostOutputs    = 16
)

// Chain is a sequence of jobs. The output of each job, in the order of its
// parts, is the input of the next one, or its side data (Job.Rereads). All but the last
// need reducers.
type Chain []Job

// Check returns the options error with which a run refuses the chain; nil: it accepts it.
func (chain Chain) Check() error {
	if len(chain) == 0 {
		return errs.Optionf("job", "an empty chain")
	}
	for i, j := range chain {
		// A job may lack a name.
		object := strings.TrimSpace("job " + j.Name)
		switch {
		case j.NewMapper == nil:
			return errs.Optionf(object, "has no mapper")
		case j.NewReducer == nil && i < len(chain)-1:
			return errs.Optionf(object, "only the last job of a chain may be map-only")
		case j.NewFolder != nil && j.NewCombiner != nil:
			return errs.Optionf(object, "a folder and a combiner exclude each other")
		case j.NewReducer == nil && (j.NewFolder != nil || j.NewCombiner != nil):
			return errs.Optionf(object, "a map-only job combines nothing")
		case j.Reduces < 0 || j.Maps < 0:
			return errs.Optionf(object, "a negative number of tasks")
		case j.NoInput && i > 0:
			return errs.Optionf(object, "only the first job of a chain may be without input")
		case j.RecordBytes < 0 || j.RecordBytes > MaxRecordBytes:
			return errs.Optionf(object, "records of %d bytes; from 1 to %d", j.RecordBytes, MaxRecordBytes)
		case j.RecordBytes > 0 && j.SkipBinary:
			return errs.Optionf(object, "binary records, and binary files are to be skipped")
		case j.Rereads && chain[0].NoInput:
			return errs.Optionf(object, "reads the input of the chain, which has none")
		case len(j.Outputs) > 0 && (i < len(chain)-1 || j.NewReleaser != nil):
			return errs.Optionf(object, "named outputs are for the last job of a chain, without a releaser")
		case len(j.Outputs) > MostOutputs:
			return errs.Optionf(object, "%d named outputs; at most %d", len(j.Outputs), MostOutputs)
		case badOutput(j.Outputs) != "":
			return errs.Optionf(object, "output %q: a name of at most 64 letters and digits, not part, each once", badOutput(j.Outputs))
		case j.Rounds < 0 || j.Rounds > 1 && (!j.Rereads || i == len(chain)-1):
			return errs.Optionf(object, "several rounds are for a job that Rereads, before the last one of the chain")
		}
	}
	return nil
}

// badOutput returns a name that no output may have, or that is there twice; "" if there is none.
func badOutput(names []string) string {
	for i, name := range names {
		other := strings.ContainsFunc(name, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
		})
		if name == "" {
			return " "
		}
		if other || name == "part" || len(name) > 64 || slices.Contains(names[:i], name) {
			return name
		}
	}
	return ""
}

// Rereads reports whether a later job, or a later round of a job, reads the input of the
// chain again.
func (chain Chain) Rereads() bool {
	for i := range chain {
		if chain[i].Rereads && (i > 0 || chain[i].Rounds > 1) {
			return true
		}
	}
	return false
}
