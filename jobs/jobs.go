// Package jobs defines what a user of mrlocal writes: mappers, reducers, and the Job that binds
// them. It defines the interfaces and the data that pass between user code and the engine. It
// runs nothing.
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
// Goroutines: the engine calls the constructors of a Job once for each attempt at a task. It uses
// the result of a constructor from one goroutine at a time. So mappers and reducers may keep
// scratch memory in their fields, and need no locks. If several goroutines call a function of a
// Job, its comment says so. Job says when constructors are called more often.
//
// Memory: user code borrows every []byte that it gets, until its call returns.
// The engine borrows every []byte that user code passes to an Emitter, until
// that call returns. Comments of methods name the exceptions. User code copies bytes that must
// live longer, and does not change bytes that it borrows. Only the Data of a Block may be changed
// (Mapper). Memory that was borrowed is unmapped when the run ends. User code that still reads it
// then may end the process.
//
// Mistakes: a run fails if user code emits after its last call, as in Close. An Emitter belongs to the
// goroutine of the call that got it. The race detector finds another use. jobtest.Check finds
// user code that changes or keeps what it borrows. A program that is built with -tags invariants finds
// user code that changes it.
//
// Errors: an error that a method returns, and a panic, fails the attempt. The
// engine starts the task again, up to a number of attempts. By default, the job also fails if a task fails twice
// with the same error. A panic is shown with its stack, and a Mistake or a returned error without one.
//
// Optional abilities: a Mapper may be a Flusher and an Attempter too. A Reducer may be a
// Flusher, an Attempter and a RecordReducer. A Folder may be a Summer, and a Releaser a
// RecordCounter. An Emitter may be a Taker, a SpanEmitter or a RawWriter. These interfaces
// are found with a type assertion.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"mrlocal/internal/errs"
)

// ErrKilled is the error of an attempt that is killed, and of its kvbuffer or merge. An Emitter of such
// an attempt panics with it, to end user code that does not return by itself.
var ErrKilled = errors.New("the attempt is killed")

// Span is a range of Block.Data: Len bytes, from Off on. A block has less than
// 4 GiB, so 32 bits are enough.
type Span struct{ Off, Len uint32 }

// Block is a sequence of whole records from one input file. Each record ends with the delimiter
// of the job; only the last record of a file may lack it. Records of fixed size
// (Job.RecordBytes) have no delimiter, and neither have the pairs that a job of a chain gets from the job
// before. A block may hold one record or thousands. An empty file gives one Block without data, so that a
// mapper sees every file.
type Block struct {
	Path   string // as the user named it; "(standard input)" for "-"; the name of the job before for each of its parts
	File   int32  // index of the file in the order of the input, from 0 (Job.ByFile)
	Input  int32  // index of the input to which the file belongs, in the order in which the user named them, from 0
	Offset int64  // offset of Data[0] in the file, in bytes; for a compressed file, in its decoded text
	Data   []byte // borrowed until Map returns
	Last   bool   // the file ends with this block (Job.ByFile)
	Paired bool   // Data has the pairs of the job before (Pairs), and no text

	at *int64 // where Records and Fixed say how far they are; nil: nobody asks
}

// Watched returns a block whose Lines, Records and Fixed set *at, for messages: the offset in Data of the record
// that they have yielded last.
func (b Block) Watched(at *int64) Block {
	b.at = at
	return b
}

// stands notes that the record at the start of rest is yielded.
func (b Block) stands(rest []byte) {
	if b.at != nil {
		*b.at = int64(len(b.Data) - len(rest))
	}
}

// Emitter receives the results of a mapper or a reducer. Emit copies key and value before it
// returns, so the caller may reuse both. Emit returns no error: the Emitter keeps the first
// one, and the engine fails the attempt with it. If the attempt is killed, Emit does not
// return: it panics, deferred calls run, and the engine recovers the panic.
//
// Records that a mapper emits go to the reducers. Records of a reducer, or of the mapper of a
// job without reducers, are written as text: key, TAB, value, delimiter. If key or value is
// empty, the other one is written alone, without TAB. A job that needs the TAB then builds the
// line itself, and emits it as the value. With Job.Bare there is neither TAB nor delimiter. The next job of
// a chain gets key and value as they are (Block.Pairs).
//
// A nil key or value is the same as an empty one, in each Emitter. Reducers and combiners get
// empty keys and values as slices that are not nil.
type Emitter interface {
	Emit(key, value []byte)
}

// Taker is an ability of the Emitter of a mapper, if the job has reducers. Take passes a whole
// block to the kvbuffer, which keeps references into it instead of copies. So a job that moves
// records as they are, such as a sort, copies each record only once.
//
// Each element of records is one record of b without its delimiter, in ascending order; the
// slice is borrowed. If Job.AppendKey is set, it makes the key from the record, and the record
// is the value. Otherwise the record is the key, and the value is empty. From the call on, the
// kvbuffer owns the memory of the block. The mapper may pass a block at most once and must not
// write to it. The records of another block than that of the call of Map are copied.
type Taker interface {
	Take(b Block, records []Span)
}

// SpanEmitter is an ability of the Emitter of a mapper, if the job has reducers. EmitSpans
// emits one record for each span: its key is the span of data, its value is value. It has the
// same effect as one call of Emit for each span, and is faster for many short keys. All slices
// are borrowed. The function EmitSpans of this package works with every Emitter.
type SpanEmitter interface {
	EmitSpans(data []byte, keys []Span, value []byte)
}

// RawWriter is an ability of the Emitter of a job without reducers. WriteRaw appends p, which
// is borrowed, to the output of the split as it is.
type RawWriter interface {
	WriteRaw(p []byte)
}

// Mapper is the map function of a job. Map is called for each block of a split,
// in the order of the input, and emits any number of records. b.Data is borrowed
// until Map returns, unless Taker.Take passed it on.
//
// Map may change b.Data in place, but not after Take. Another attempt reads the input anew. It
// fails if the input can be read only once, such as a pipe.
type Mapper interface {
	Map(b Block, out Emitter) error
}

// MapperFunc makes a Mapper of a function. If one MapperFunc serves all attempts, several
// goroutines call it.
type MapperFunc func(b Block, out Emitter) error

// Map calls f.
func (f MapperFunc) Map(b Block, out Emitter) error { return f(b, out) }

// Flusher is an optional ability of a Mapper or a Reducer. The engine calls Flush once, after
// the last block or group. Flush emits results that were collected over several blocks or
// groups. A reducer without groups is flushed too.
//
// A combiner that is a Flusher is flushed after the groups of each partition. It may emit keys
// other than those of its groups, in ascending order within the partition.
type Flusher interface {
	Flush(out Emitter) error
}

// RecordReducer is an optional ability of a Reducer that does not use groups, such as one that
// writes all records to a program. The engine then calls ReduceRecord for each record instead
// of Reduce, in the same order. Key and value are borrowed until it returns. Combiners and jobs
// with GroupBytes use Reduce.
type RecordReducer interface {
	ReduceRecord(key, value []byte, out Emitter) error
}

// ReduceRecords calls ReduceRecord for each value of a group, until it fails.
func ReduceRecords(r RecordReducer, key []byte, vs *Values, out Emitter) (err error) {
	for err == nil && vs.Next() {
		err = r.ReduceRecord(key, vs.Value(), out)
	}
	return err
}

// OwnAttempt describes the attempt of a mapper or reducer (Attempter), and lets it report to
// the engine. Functions that may be nil say so.
type OwnAttempt struct {
	Context context.Context // done when the attempt is killed
	Task    int             // number of the task among the maps or reduces of the job, from 0
	Number  int             // number of the attempt at this task, from 0

	// Progress reports that done of total units of work are done. The caller chooses the unit.
	// Each call shows that the attempt is alive. An attempt without progress for the timeout of
	// tasks fails. Code that works long on one block or group calls Progress, on the goroutine
	// of Map or Reduce.
	Progress func(done, total int64)

	// Lasts reports that the rest of the attempt takes the time total, whatever it does, as in
	// a job that sleeps. The engine then computes the progress from the clock, and Progress
	// only shows that the attempt is alive. It may be nil.
	Lasts func(total time.Duration)

	// Side is the side data of the job, the same for each attempt; nil: there is none. All
	// attempts share it, so it must not be changed (Job.Rereads).
	Side []byte

	// Output returns the Emitter of one of Job.Outputs. It writes in the same format as that of
	// the attempt. The first call for a name makes the file. The attempt fails if the name is
	// not in Job.Outputs, or if it is a map of a job with reducers. nil: the job has no
	// Outputs.
	Output func(name string) Emitter

	// Dir returns the path of a directory of this attempt. If the attempt is the one that counts, the
	// files and directories in it move into the output directory, those of reduces and of later tasks
	// last, and replace others of the same name. Otherwise they are removed. The directory of a map
	// whose job has reduces exists only if user code makes it. The path is "" if the output of the job
	// is not a directory on this machine. Dir fails if the attempt is killed. It may be nil.
	Dir func() (string, error)

	// Read counts records, and their bytes, that a map of a job without input has read from
	// another source. It may be nil.
	Read func(records, bytes int64)

	// Status shows text, a few words about the current work, to the users who watch the run.
	// The engine may drop or cut texts that come fast or are long. It may be nil.
	Status func(text string)

	// Charge counts bytes of memory that the attempt takes in addition to its blocks, against the
	// memory bound of the run, until the attempt ends. It returns false, and counts nothing, if
	// there is no room. nil: no bound applies.
	Charge func(bytes int64) bool
}

// Attempter is an optional ability of a Mapper or a Reducer, also of a combiner. The engine
// calls Begin once, before the first block or group. If the value is an io.Closer too, the
// engine closes it at the end of the attempt, also after a failure. It does so before the result
// of the attempt counts, so an error of Close fails the attempt. Close must not emit. After Close the
// functions of OwnAttempt do nothing.
//
// Before attempts start, the engine may sample the input (Job.Ordered). It makes a mapper for each
// place of the sample, and begins and closes the mapper as in an attempt. Task is 0 then. Number
// counts the tries at the place, from 0.
type Attempter interface {
	Begin(a OwnAttempt)
}

// Folder combines the values of a key while the map collects them. Hadoop's users call this
// in-mapper combining. The kvbuffer holds one accumulator for each key in a hash table, so that
// repeated keys take no memory and no sorting.
//
// Fold returns acc with value folded in. acc is nil for the first value of a key, and only then,
// even if Fold has returned nil before. The result may be acc itself, changed or longer; it must not refer to value,
// which is borrowed. Fold must be associative and commutative, because values are folded in any order, and folded
// values are folded again. The reducer gets one or several folded values for each key.
type Folder interface {
	Fold(acc, value []byte) []byte
}

// Summer is an optional ability of a Folder whose Fold has the same result as Sum.Fold, such as
// one that wraps a Sum. The kvbuffer then adds the values in its hash table, about five times
// as fast, and never calls Fold. It never calls Sums either: having the method is enough.
//
// Sum itself does not have the method. Otherwise a type that embeds Sum and changes Fold would
// be a Summer by mistake. A type that embeds Sum and keeps its Fold adds the method to be fast.
type Summer interface {
	Folder
	Sums()
}

// Reducer is the reduce function of a job. The engine calls Reduce for each group: a key, and
// all values that were emitted with it. Groups come in ascending byte order of their keys. key
// is borrowed until Reduce returns, a value until the next call of vs.Next. Reduce need not
// read all values.
//
// As a combiner (Job.NewCombiner), a Reducer gets the part of a group that is in memory when
// the kvbuffer spills. It must then emit only the key of the group, unless it is a Flusher. With
// GroupBytes its groups are still those of whole keys.
type Reducer interface {
	Reduce(key []byte, vs *Values, out Emitter) error
}

// ReducerFunc makes a Reducer of a function. If one ReducerFunc serves all attempts, several
// goroutines call it.
type ReducerFunc func(key []byte, vs *Values, out Emitter) error

// Reduce calls f.
func (f ReducerFunc) Reduce(key []byte, vs *Values, out Emitter) error { return f(key, vs, out) }

// Verdict says how much of the input a Releaser still needs.
type Verdict uint8

const (
	Continue Verdict = iota // all of the rest
	EndFile                 // all but later splits of the file in which this split ends
	EndJob                  // nothing
)

// Releaser writes the final output of a job without reducers. There is one Releaser for the
// whole job. The engine calls it from one goroutine at a time.
//
// The engine calls Release once for each split, in the order of the input. split is the output
// of the mapper of that split, borrowed until Release returns. Release writes the result of the
// split to w. It computes what a mapper cannot know inside a split: line numbers, counts of a
// whole file, limits. The engine calls Finish after the last split. If a method fails or panics,
// the job fails at once, because the text in w cannot be written a second time.
type Releaser interface {
	Release(split io.Reader, w io.Writer) (Verdict, error)
	Finish(w io.Writer) error
}

// Copying is a Releaser that copies each split, as for a job without one.
type Copying struct{}

// Release implements Releaser.
func (Copying) Release(split io.Reader, w io.Writer) (Verdict, error) {
	_, err := io.Copy(w, split)
	return Continue, err
}

// Finish implements Releaser.
func (Copying) Finish(io.Writer) error { return nil }

// RecordCounter is an optional ability of a Releaser. Records returns how many records were
// released so far. The engine reports it as the output records of the job, because it cannot
// count records in the bytes of WriteRaw.
type RecordCounter interface {
	Records() int64
}

// PartUser is an optional ability of a Releaser that may need only a part of a file. Used returns
// how many bytes of a file the job has used; -1: all. It is called after Finish, for standard input
// that is a regular file. file is its Block.File, and text what its blocks have. The engine then sets the
// offset of standard input behind these bytes, where another process reads on.
type PartUser interface {
	Used(file int32, text io.Reader) (bytes int64, err error)
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

// Job is one MapReduce job. NewMapper is required. If NewReducer is nil, the job has no
// reducers: the records that mappers emit are the result. All other fields may be zero.
//
// The engine calls NewMapper and NewReducer once for each attempt at a task, and NewFolder and
// NewCombiner once for each attempt at a map. A map that combines nothing may make no combiner.
// The engine calls NewReleaser once for the job. Several goroutines call constructors at a time.
// A constructor must not return nil.
//
// An attempt whose memory cannot hold a long record starts again with more memory, under the same
// number. It then closes what it has made, and calls its constructors anew. A sample of the input
// makes mappers too (Attempter). The reducer of the first attempt may be made before the attempt
// starts.
type Job struct {
	Name    string // for messages and reports; may be empty
	Delim   Delim  // ends each record of input and output
	Reduces int    // number of reduce tasks, at most MostReducers; 0: chosen by the size of the input

	// RecordBytes, if it is not 0, says that the input has binary records of this many bytes,
	// without delimiters. The input is then never decoded. At most MaxRecordBytes.
	RecordBytes int
	Bare        bool // the output has key and value side by side, without TAB and delimiter: binary records

	// Ordered gives each reduce task a range of keys. The parts of the output,
	// one after the other, are then sorted as a whole. The engine samples the
	// input for the bounds of the ranges. If Ordered is false, keys are divided
	// by hash. It excludes Partition.
	Ordered bool

	// NoInput is set for a job that reads no input. It has Maps map tasks, at most 10,000,000,
	// and each gets one block without data.
	NoInput bool
	Maps    int

	// Timed is set for a job without input whose tasks report their time with OwnAttempt.Lasts.
	// Until its first report, a task counts as not begun.
	Timed bool

	// Begin, if set, is called once in each run with the number of input files, before any
	// other function. It returns the Job that runs instead of this one. The run fails if
	// Begin fails, if Chain.Check refuses that Job, or if only one of both has a NewReducer or a NewReleaser.
	//
	// The engine has used some fields by then, so this Job fixes them: Name, Delim, RecordBytes,
	// SkipBinary, ByFile, NoInput, Rereads, Rounds and Outputs. Of the returned Job all other fields
	// count, except Begin. A run calls Begin of the first job of a chain only.
	Begin func(files int) (Job, error)

	NewMapper   func() Mapper
	NewFolder   func() Folder   // nil: values are not folded
	NewCombiner func() Reducer  // nil: no combiner; only one of NewFolder and NewCombiner may be set
	NewReducer  func() Reducer  // nil: the job has no reducers
	NewReleaser func() Releaser // only without reducers; nil: the output of the mappers is written in the order of the input

	// AppendKey appends the sort key of a record to dst and returns the result. Keys are
	// compared byte by byte. The kvbuffer calls it for records of Taker.Take only; Emit gets
	// the key itself. Several goroutines call it.
	AppendKey func(dst, record []byte) []byte

	// Partition returns the number of the reduce task, from 0 to parts-1, that gets a key. nil:
	// keys are divided by range or hash (see Ordered). Several goroutines call it.
	Partition func(key []byte, parts int) int

	// GroupBytes, if set, returns how many leading bytes of a key name its group. Reduce is
	// called once for all keys of a group, with the first of them. Values.Key is then the key
	// of the current value. So values come in the order of the rest of their keys (Hadoop's
	// secondary sort). All keys of a group go to one reduce: a map fails if it finds that a Partition sends them to
	// several ones.
	//
	// The name of a group must not be a prefix of another one. A last byte that occurs nowhere
	// else in names ensures that. A reduce fails if a group comes back after another one has begun. Several
	// goroutines call GroupBytes.
	GroupBytes func(key []byte) int

	// Rereads makes a later job of a chain read the input of the chain, as the first job does.
	// The output of the job before is then the side data of each attempt (OwnAttempt.Side), at
	// most MaxSideBytes. Other jobs get the side data that the user of the chain names, if any.
	// The input is cut as for the first job, so Delim, RecordBytes and SkipBinary are those of it.
	Rereads bool

	// Rounds makes a job with Rereads run several times, at most Rounds times; 0 means 1. The
	// output of a round is the side data of the next one. Converged gets the side data of a
	// round and its output. If it returns true, no round follows; if it is nil, all Rounds run.
	// The last job of a chain cannot have Rounds.
	Rounds    int
	Converged func(before, after []byte) bool

	// Outputs are the names of further outputs (Hadoop's MultipleOutputs). A reducer, or the
	// mapper of a job without reducers, writes to them with OwnAttempt.Output. For example, the
	// output "errors" of reduce 3 is the file errors-r-00003 next to part-r-00003. It is
	// committed with the part, so a failed or killed attempt leaves nothing.
	//
	// A name has letters and digits, and is not "part". There are at most MostOutputs. The
	// result has to be a directory of the last job of a chain, and the job must not have
	// NewReleaser.
	Outputs []string

	// Text makes a later job of a chain read the records of the job before as text: Block.Lines, Block.Records
	// or Data. A record with a delimiter in it then fails the job before. Otherwise it reads Block.Pairs, unless it
	// has RecordBytes or Rereads, or the job before has Bare or Rounds.
	Text bool

	// SkipBinary leaves out files with a NUL byte in their first 64 KiB.
	SkipBinary bool

	// ByFile is set for a job whose mapper needs Block.File as an index, or Block.Last. All runs on this
	// machine set both. A child of Hadoop Streaming knows neither, so it refuses the job.
	ByFile bool

	// BuiltIn is set for the jobs of this module: their failed attempts never print a stack, and they read Text.
	BuiltIn bool
}

// SideError is the error of user code that cannot use the side data (OwnAttempt.Side). A map that returns
// it fails with an input error that names the file of the side data instead of the input.
type SideError struct{ Err error }

// Error returns the text of Err.
func (e *SideError) Error() string { return "side data: " + e.Err.Error() }

// Unwrap returns Err.
func (e *SideError) Unwrap() error { return e.Err }

// Limits of a Job. MaxRecordBytes bounds a binary record. MaxSideBytes bounds side data, which
// each run keeps in addition to its memory bound. MostOutputs bounds named outputs, because each
// attempt has an open file for each. MostReducers bounds the reduce tasks, also those that the
// options of a run ask for.
const (
	MaxRecordBytes = 64 << 10
	MaxSideBytes   = 8 << 20
	MostOutputs    = 16
	MostReducers   = 100_000

	mostMaps = 10_000_000 // of a job without input; each takes memory in a run
)

// Chain is a sequence of jobs. The output of each job, in the order of its parts, is the input
// of the next one, or its side data (Job.Rereads). All but the last need reducers. The next job gets the keys and
// values as they were emitted (Block.Pairs), or reads them as text (Job.Text).
type Chain []Job

// Paired reports whether the job at index i reads the records of the job before with Block.Pairs.
func (chain Chain) Paired(i int) bool {
	if i <= 0 || i >= len(chain) {
		return false
	}
	j, before := &chain[i], &chain[i-1]
	return !j.Text && !j.BuiltIn && !j.Rereads && j.RecordBytes == 0 && !before.Bare && before.Rounds <= 1
}

// Check returns the options error with which a run refuses the chain, or nil.
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
		case j.Ordered && j.Partition != nil:
			return errs.Optionf(object, "Ordered and a Partition exclude each other: ranges of keys divide an ordered job")
		case j.NewReducer == nil && i < len(chain)-1:
			return errs.Optionf(object, "only the last job of a chain may be map-only")
		case j.NewFolder != nil && j.NewCombiner != nil:
			return errs.Optionf(object, "a folder and a combiner exclude each other")
		case j.NewReducer == nil && (j.NewFolder != nil || j.NewCombiner != nil):
			return errs.Optionf(object, "a folder or a combiner needs a reducer")
		case j.Reduces < 0 || j.Maps < 0:
			return errs.Optionf(object, "the number of tasks must not be negative")
		case j.Reduces > MostReducers:
			return errs.Optionf(object, "%d reduces; at most %d", j.Reduces, MostReducers)
		case j.NoInput && j.Maps > mostMaps:
			return errs.Optionf(object, "%d maps; at most %d", j.Maps, mostMaps)
		case j.Delim > NUL:
			return errs.Optionf(object, "delimiter %d: must be Newline (0) or NUL (1)", j.Delim)
		case j.NoInput && i > 0:
			return errs.Optionf(object, "only the first job of a chain may be without input")
		case j.RecordBytes < 0 || j.RecordBytes > MaxRecordBytes:
			return errs.Optionf(object, "records of %d bytes; must be from 1 to %d", j.RecordBytes, MaxRecordBytes)
		case j.RecordBytes > 0 && j.SkipBinary:
			return errs.Optionf(object, "SkipBinary and binary records exclude each other")
		case j.Rereads && chain[0].NoInput:
			return errs.Optionf(object, "reads the input of the chain, which has none")
		case j.NewReducer != nil && j.NewReleaser != nil:
			return errs.Optionf(object, "a releaser is for a job without reducers")
		case i > 0 && j.Rereads && (j.Delim != chain[0].Delim || j.RecordBytes != chain[0].RecordBytes || j.SkipBinary != chain[0].SkipBinary):
			return errs.Optionf(object, "reads the input of the chain again, so Delim, RecordBytes and SkipBinary must be those of the first job")
		case i > 0 && !j.Rereads && j.SkipBinary:
			return errs.Optionf(object, "SkipBinary is for a job that reads the input of the chain")
		case len(j.Outputs) > 0 && (i < len(chain)-1 || j.NewReleaser != nil):
			return errs.Optionf(object, "named outputs are for the last job of a chain, without a releaser")
		case len(j.Outputs) > MostOutputs:
			return errs.Optionf(object, "%d named outputs; at most %d", len(j.Outputs), MostOutputs)
		case badOutput(j.Outputs) != "":
			return errs.Optionf(object, "output %q: a name of at most 64 letters and digits, not part, each once", badOutput(j.Outputs))
		case j.Rounds < 0 || j.Rounds > 1 && (!j.Rereads || i == len(chain)-1):
			return errs.Optionf(object, "only a job that Rereads, and is not the last one of the chain, may have several Rounds")
		}
	}
	return nil
}

// Begun returns the first job of the chain as a run on the given number of input files has it. If the job has
// Begin, that is the job of Begin, with the fields that Job.Begin names taken from the first one.
// An error is that of Begin, or of kind errs.BadOptions.
func (chain Chain) Begun(files int) (Job, error) {
	if len(chain) == 0 {
		return Job{}, chain.Check()
	}
	first := &chain[0]
	if first.Begin == nil {
		return *first, nil
	}
	begun, err := first.Begin(files)
	if err != nil {
		return begun, fmt.Errorf("begin: %w", err)
	}
	err = append(Chain{begun}, chain[1:]...).Check()
	// Slots and the place of the result were chosen for a job with these functions, or without them.
	if err == nil && ((begun.NewReducer == nil) != (first.NewReducer == nil) || (begun.NewReleaser == nil) != (first.NewReleaser == nil)) {
		err = errors.New("NewReducer and NewReleaser must be nil in both jobs, or in none")
	}
	if err != nil {
		return begun, errs.Optionf(strings.TrimSpace("job "+first.Name), "Begin returned a job that cannot run: %w", err)
	}
	// By these fields options were checked, the input was divided, and later jobs of the chain planned.
	begun.Name = first.Name
	begun.Delim = first.Delim
	begun.RecordBytes = first.RecordBytes
	begun.SkipBinary = first.SkipBinary
	begun.NoInput = first.NoInput
	begun.Rereads = first.Rereads
	begun.Rounds = first.Rounds
	begun.Outputs = first.Outputs
	begun.ByFile = first.ByFile
	return begun, nil
}

// badOutput returns the first name that is not allowed or occurs twice; "" if there is none. It
// returns " " for an empty name.
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
