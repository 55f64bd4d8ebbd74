// Package jobtest runs a chain of jobs in memory, in the simplest way. Its result is the reference
// for tests of jobs and of the engine.
//
// Reference reads each file as one block. Run cuts the input into splits and blocks of given sizes,
// which must not change a byte of the result. So a test of both tests a job without the engine.
//
// Memory: all input and output is in memory. The results belong to the caller. A run fails if user code
// breaks the rules of package jobs: if it changes bytes that it borrows, or emits after its last call.
// Bytes that it borrows are overwritten after the call. So user code that keeps them gives a wrong
// result. Check finds such a job.
package jobtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mrlocal/jobs"
)

// File is an input file.
type File struct {
	Path string
	Data []byte
}

// Cut says how the input is cut. The zero value means one split, with one block for each file.
type Cut struct {
	BlockBytes  int // a block ends with the record in which it reaches this length; 0: with its file
	SplitBlocks int // blocks of a split, which may be of different files; 0: all

	Side   []byte  // side data of the run
	Inputs []int32 // Block.Input of each file; nil: 0

	// Reduces is the number of reduce tasks of each job, unless Job.Reduces sets it; 0: one. It counts
	// only for jobs with Partition. Other jobs have one, because the result of a total order does not
	// depend on the number, and the hash of the engine is its own.
	Reduces int

	spares bool // bytes that user code borrows stay as they are after its call
	whole  bool // the next job reads the result by its records
	pairs  bool // it reads them as pairs
	paired bool // the job reads pairs
	way    way  // in which values are folded or combined
}

// way is one of the ways in which an engine may fold and combine the values of a key.
type way uint8

const (
	once      way = iota // values in their order; the combiner runs once a split
	backwards            // values in the reverse order; no combiner runs
	twice                // a few at random, and then the results; the combiner runs twice a split. So are all later ways
)

func (w way) String() string { return [...]string{"once", "backwards", "in parts"}[min(w, twice)] }

// Output is the result of a chain.
type Output struct {
	Data    []byte
	Records int64             // output records of the last job: those it wrote, or those its Releaser counted
	Named   map[string][]byte // by name in jobs.Job.Outputs: the output of all attempts

	parts [][]byte // of Data, by reduce task
}

// Reference returns the output of chain on files, each read as one block. It fails with the
// first error of the jobs.
func Reference(chain jobs.Chain, files []File) ([]byte, error) {
	out, err := Run(chain, files, Cut{})
	return out.Data, err
}

// Run runs chain on files, cut as cut says. It fails with the first error of the
// jobs.
func Run(chain jobs.Chain, files []File, cut Cut) (out Output, err error) {
	first := files
	given := cut.Side
	inputs := cut.Inputs
	var before string
	begun, err := chain.Begun(len(files))
	if err != nil {
		return Output{}, err
	}
	chain = append(jobs.Chain{begun}, chain[1:]...)
	for i, job := range chain {
		files, cut.Side = partsOf(before, out), given
		if i == 0 || job.Rereads {
			files = first
		}
		if job.Rereads && i > 0 {
			cut.Side = out.Data
		}
		cut.paired, cut.pairs = chain.Paired(i), chain.Paired(i+1)
		cut.whole = i < len(chain)-1 && !job.Bare && !chain[i+1].Rereads && !cut.pairs
		for round := 1; ; round++ {
			if i < len(chain)-1 && (job.Rounds > 1 || chain[i+1].Rereads) && len(out.Data) > jobs.MaxSideBytes {
				return out, fmt.Errorf("%s: more than %d bytes of side data", job.Name, jobs.MaxSideBytes)
			}
			if out, err = runJob(job, files, cut); err != nil {
				return out, fmt.Errorf("%s: %w", job.Name, err)
			}
			if round >= job.Rounds || job.Converged != nil && job.Converged(cut.Side, out.Data) {
				break
			}
			cut.Side = out.Data
		}
		before, cut.Inputs = job.Name, nil
		if i+1 < len(chain) && chain[i+1].Rereads {
			cut.Inputs = inputs
		}
	}
	return out, nil
}

// partsOf returns the parts of a job as files of the next one. Each is a file, as in a run.
func partsOf(job string, out Output) (files []File) {
	for _, part := range out.parts {
		files = append(files, File{Path: cmp.Or(job, "job"), Data: part})
	}
	return files
}

// runJob runs one job of a chain on files.
func runJob(job jobs.Job, files []File, cut Cut) (Output, error) {
	job = jobs.Checked(job)
	out, all := &writer{delim: job.Delim.Byte(), bare: job.Bare, whole: cut.whole, pairs: cut.pairs}, &shared{named: map[string]*writer{}, side: bytes.Clone(cut.Side), spares: cut.spares, way: cut.way}
	var parts [][]byte
	split, err := splits(job, files, cut)
	if err == nil && job.NewReducer != nil {
		parts, err = mapReduce(job, split, cut, out, all)
	} else if err == nil {
		err = mapOnly(job, split, out, all)
	}
	err = cmp.Or(err, all.late, out.err)
	if err == nil && !bytes.Equal(all.side, cut.Side) {
		err = errors.New("the side data was changed; attempts borrow it")
	}
	named := map[string][]byte{}
	for name, w := range all.named {
		named[name] = w.Bytes()
	}
	if parts == nil {
		parts = [][]byte{out.Bytes()}
	}
	return Output{Data: out.Bytes(), Records: out.records, Named: named, parts: parts}, err
}

// mapReduce collects the records of all splits, and reduces each partition. It returns the parts.
func mapReduce(job jobs.Job, splits [][]jobs.Block, cut Cut, out *writer, all *shared) (parts [][]byte, err error) {
	partitions := make([][]pair, 1)
	if n := cmp.Or(job.Reduces, cut.Reduces, 1); job.Partition != nil {
		partitions = make([][]pair, n)
		if job.GroupBytes != nil {
			job.Partition = jobs.OneReduce(job.Partition, job.GroupBytes)
		}
	}
	for i, split := range splits {
		a := &attempt{job: &job, task: i, maps: true, shared: all}
		made := make([][]pair, len(partitions))
		if err := a.run(func() error { return a.mapSplit(job, split, made) }); err != nil {
			return nil, err
		}
		for p := range made {
			partitions[p] = append(partitions[p], made[p]...)
		}
	}
	for i, pairs := range partitions {
		from := out.Len()
		a := &attempt{job: &job, task: i, shared: all}
		if err := a.run(func() error { return a.reduce(job, pairs, out) }); err != nil {
			return nil, err
		}
		parts = append(parts, out.Bytes()[from:out.Len():out.Len()])
	}
	return parts, nil
}

// shared is what the attempts of a job share.
type shared struct {
	named map[string]*writer // the outputs of jobs.Job.Outputs that attempts have asked for
	side  []byte
	late  error // of user code that has emitted after its last call

	spares bool // Cut.spares
	way    way
}

// attempt is an attempt at a task.
type attempt struct {
	*shared
	job   *jobs.Job
	task  int
	maps  bool // a map of a job with reducers
	over  bool // no call that may emit follows
	begun []any
	err   error // of Output
}

// run runs work, and closes what it has begun. A panic of user code is an error.
func (a *attempt) run(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	err = work()
	a.over = true
	for _, user := range a.begun {
		if c, ok := user.(io.Closer); ok {
			err = cmp.Or(err, c.Close())
		}
	}
	return cmp.Or(err, a.err)
}

// begin calls Begin if user is a jobs.Attempter.
func (a *attempt) begin(user any) {
	u, ok := user.(jobs.Attempter)
	if !ok {
		return
	}
	a.begun = append(a.begun, user)
	own := jobs.OwnAttempt{
		Context: context.Background(), Task: a.task, Side: a.side,
		Progress: func(int64, int64) {}, Lasts: func(time.Duration) {}, Read: func(int64, int64) {}, Status: func(string) {},
		Charge: func(int64) bool { return true },
	}
	if len(a.job.Outputs) > 0 {
		own.Output = a.output
	}
	u.Begin(own)
}

// emits reports whether user code may emit. Otherwise the record is lost, and the run fails.
func (a *attempt) emits() bool {
	if a.over {
		a.late = errors.New("user code has emitted a record after Map, Reduce and Flush, as in Close")
	}
	return !a.over
}

// output implements OwnAttempt.Output.
func (a *attempt) output(name string) jobs.Emitter {
	w := &writer{delim: a.job.Delim.Byte(), bare: a.job.Bare}
	switch {
	case !slices.Contains(a.job.Outputs, name):
		a.err = cmp.Or(a.err, fmt.Errorf("output %q is none of the job's Outputs", name))
	case a.maps:
		a.err = cmp.Or(a.err, fmt.Errorf("output %q: where a job has reducers, only they write to it", name))
	case a.named[name] == nil:
		a.named[name] = w
	default:
		w = a.named[name]
	}
	return text{w, a}
}

// mapOnly passes the output of each split to the releaser, in order. As in the engine, a
// verdict skips the rest of a file or of the job.
func mapOnly(job jobs.Job, splits [][]jobs.Block, out *writer, all *shared) error {
	releaser := jobs.Releaser(jobs.Copying{})
	if job.NewReleaser != nil {
		releaser = job.NewReleaser()
	}
	ended := int32(-1)
	for i, split := range splits {
		// DeleteFunc must not change the list of splits.
		split = slices.DeleteFunc(slices.Clone(split), func(b jobs.Block) bool { return b.File == ended })
		if len(split) == 0 {
			continue
		}
		spool := &writer{delim: out.delim, bare: out.bare}
		a := &attempt{job: &job, task: i, shared: all}
		if err := a.run(func() error { return a.mapBlocks(job.NewMapper(), split, text{spool, a}) }); err != nil {
			return err
		}
		out.records += spool.records
		verdict, err := releaser.Release(&spool.Buffer, out)
		if err != nil {
			return err
		}
		if verdict > jobs.EndJob {
			return fmt.Errorf("release: the verdict %d: must be Continue, EndFile or EndJob", verdict)
		} else if verdict == jobs.EndJob {
			break
		} else if verdict == jobs.EndFile {
			ended = split[len(split)-1].File
		}
	}
	if counter, ok := releaser.(jobs.RecordCounter); ok {
		defer func() { out.records = counter.Records() }()
	}
	return releaser.Finish(out)
}

// mapSplit maps and combines a split. It adds the records to those of their partitions.
func (a *attempt) mapSplit(job jobs.Job, split []jobs.Block, partitions [][]pair) error {
	c := &collector{job: job, of: a}
	if err := a.mapBlocks(job.NewMapper(), split, c); err != nil {
		return err
	}
	for _, p := range c.pairs {
		part := 0
		if job.Partition != nil && len(partitions) > 1 {
			part = job.Partition(p.key, len(partitions))
		}
		partitions[part] = append(partitions[part], p)
	}
	if job.NewCombiner == nil || len(c.pairs) == 0 || a.way == backwards {
		return nil
	}
	err := a.combine(job, partitions)
	if err == nil && a.way >= twice {
		err = a.combine(job, partitions)
	}
	return err
}

// combine runs a combiner over each partition, and replaces its pairs.
func (a *attempt) combine(job jobs.Job, partitions [][]pair) error {
	combiner := jobs.CombinerOf(job.NewCombiner)
	a.begin(combiner)
	for i, pairs := range partitions {
		combined := &collector{of: a}
		f, flushes := combiner.(jobs.Flusher)
		err := a.eachGroup(pairs, nil, func(key []byte, vs *jobs.Values) error {
			own, from := bytes.Clone(key), len(combined.pairs)
			err := combiner.Reduce(key, vs, combined)
			if !flushes && slices.ContainsFunc(combined.pairs[from:], func(p pair) bool { return !bytes.Equal(p.key, own) }) {
				err = cmp.Or(err, errors.New("combiner: emitted a key other than the one it was given"))
			}
			return err
		})
		if err == nil && flushes && len(pairs) > 0 {
			err = f.Flush(combined)
			if !slices.IsSortedFunc(combined.pairs, func(p, q pair) int { return bytes.Compare(p.key, q.key) }) {
				err = cmp.Or(err, errors.New("combiner: its keys do not ascend; a combiner must emit the keys in their order"))
			}
		}
		if err != nil {
			return err
		}
		partitions[i] = combined.pairs
	}
	return nil
}

// loan is a copy of bytes that user code borrows.
type loan struct {
	bytes, own []byte
	of         *shared
}

// lend makes a loan of p.
func (s *shared) lend(p []byte) loan { return loan{bytes: append([]byte{}, p...), own: p, of: s} }

// back ends the loan. It fails if user code has changed the bytes, and overwrites them, so that user code
// that has kept them gives a wrong result.
func (l *loan) back(what string) error {
	if !bytes.Equal(l.bytes, l.own) {
		return fmt.Errorf("user code has changed %s, which it borrows", what)
	}
	if l.of != nil {
		l.of.invert(l.bytes)
	}
	return nil
}

// invert changes all bytes of p, which user code may not read any more, unless the run spares them.
func (s *shared) invert(p []byte) {
	if s.spares {
		return
	}
	for i := range p {
		p[i] = ^p[i]
	}
}

// mapBlocks runs a mapper on the blocks of a split.
func (a *attempt) mapBlocks(m jobs.Mapper, split []jobs.Block, out jobs.Emitter) error {
	a.begin(m)
	for _, b := range split {
		b.Data = append([]byte{}, b.Data...) // the mapper may change it
		err := m.Map(b, out)
		c, ok := out.(*collector)
		switch {
		case err != nil:
			return err
		case !ok || c.taken.own == nil:
			a.invert(b.Data)
		case !bytes.Equal(c.taken.bytes, c.taken.own):
			return errors.New("user code has changed a block after Take")
		default:
			c.taken = loan{}
		}
	}
	if f, ok := m.(jobs.Flusher); ok {
		return f.Flush(out)
	}
	return nil
}

// splits cuts files into blocks and splits, as the engine does, but of any size. A job without input has
// a split of one empty block for each of its Maps.
func splits(job jobs.Job, files []File, cut Cut) ([][]jobs.Block, error) {
	if job.NoInput {
		return slices.Repeat([][]jobs.Block{{{Last: true}}}, job.Maps), nil
	}
	var blocks []jobs.Block
	for i, f := range files {
		if job.SkipBinary && bytes.IndexByte(f.Data[:min(len(f.Data), 64<<10)], 0) >= 0 {
			continue
		}
		if r := job.RecordBytes; r > 0 && len(f.Data)%r != 0 {
			return nil, fmt.Errorf("%s: %d bytes are not a whole number of records of %d bytes", f.Path, len(f.Data), r)
		}
		first := len(blocks)
		blocks = appendBlocks(blocks, int32(i), f, cut, job)
		for k := range blocks[first:] {
			if i < len(cut.Inputs) {
				blocks[first+k].Input = cut.Inputs[i]
			}
		}
	}
	if len(blocks) == 0 {
		return nil, nil
	}
	return slices.Collect(slices.Chunk(blocks, cmp.Or(cut.SplitBlocks, len(blocks)))), nil
}

// appendBlocks appends the blocks of a file, each of about cut.BlockBytes; 0: one block. A block
// ends behind a delimiter, so that no record is cut. An empty file is one empty block.
func appendBlocks(dst []jobs.Block, file int32, f File, cut Cut, job jobs.Job) []jobs.Block {
	blockBytes := cut.BlockBytes
	for off := 0; ; {
		end := len(f.Data)
		if blockBytes > 0 && off+blockBytes < end {
			if cut.paired {
				for end = off; end < off+blockBytes; {
					head, key, value := jobs.PairBytes(f.Data[end:])
					end += head + key + value
				}
			} else if r := job.RecordBytes; r > 0 {
				end = min(end, (off+blockBytes+r-1)/r*r)
			} else if n := bytes.IndexByte(f.Data[off+blockBytes-1:], job.Delim.Byte()); n >= 0 {
				end = off + blockBytes + n
			}
		}
		last := end == len(f.Data)
		dst = append(dst, jobs.Block{Path: f.Path, File: file, Offset: int64(off), Data: f.Data[off:end], Last: last, Paired: cut.paired})
		if last {
			return dst
		}
		off = end
	}
}

// Check tests that a chain keeps the rules of package jobs, and that its result does not depend on how
// its input is cut, or on how values are folded and combined. It runs the chain on files whole, and cut into small
// blocks and splits, with folds in another order and in parts, without combiners and with two rounds. Borrowed bytes
// are overwritten after each call. One more run leaves them as they are. If its result differs, user code
// has kept borrowed bytes.
func Check(t testing.TB, chain jobs.Chain, files []File) {
	t.Helper()
	want, err := Reference(chain, files)
	if err != nil {
		t.Errorf("whole files: %v", err)
		return
	}
	if kept, err := Run(chain, files, Cut{spares: true}); err != nil || !bytes.Equal(kept.Data, want) {
		t.Errorf("the result depends on borrowed bytes after the call: user code keeps them, or reads them too late (error %v)", err)
	}
	for _, cut := range []Cut{{BlockBytes: 1}, {BlockBytes: 1, SplitBlocks: 1}, {BlockBytes: 1 << 10, SplitBlocks: 2}, {way: backwards}, {way: twice}, {BlockBytes: 1, SplitBlocks: 3, way: twice}, {way: twice + 1}, {way: twice + 2}, {way: twice + 3}} {
		got, err := Run(chain, files, cut)
		switch {
		case err != nil:
			t.Errorf("blocks of %d bytes, %d to a split, folded and combined %v: %v", cut.BlockBytes, cut.SplitBlocks, cut.way, err)
		case !bytes.Equal(got.Data, want):
			t.Errorf("blocks of %d bytes, %d to a split, folded and combined %v: %d bytes, want %d as for whole files", cut.BlockBytes, cut.SplitBlocks, cut.way, len(got.Data), len(want))
		}
	}
}

// Tool runs a program whose result a job must have. It runs in the C locale, in a directory
// with files. Tool returns the standard output and the exit code, 0 or 1. It skips the test if
// the program is not installed, and fails the test at any other exit code.
func Tool(t testing.TB, files []File, name string, args ...string) ([]byte, int) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	dir := t.TempDir()
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Path), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	if cmd.ProcessState.ExitCode() > 1 {
		t.Fatalf("%s %q: exit %d: %s", name, args, cmd.ProcessState.ExitCode(), stderr.Bytes())
	}
	return out, cmd.ProcessState.ExitCode()
}
