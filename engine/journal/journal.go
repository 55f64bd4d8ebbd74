// Package journal keeps the committed map outputs of a run on disk. After a kill, a power
// cut or a full disk the same command goes on, and no committed map runs again.
//
// The journal is a file next to the map outputs, in a directory that disk.KeepTemp finds or
// makes. Its head describes the run: settings, inputs, splits, reduces. The head is complete
// and on disk before a map starts. A record for each map output follows. It is written when the
// map ends, and from then on it survives a kill of the process. A goroutine syncs the record at
// once, and the output at most syncAfter later, so that both survive a power cut. Maps that end
// together share one sync.
//
//	head     settings ► fingerprint of each input ► reduces and cut points
//	records  map 3 ► map 0 ► map 1 ► …              a torn one ends the journal
//
// Open refuses a run whose head differs from that of the journal, and names the first
// difference. Outputs leaves out a record whose output cannot be read, and its map runs again.
// So it does no harm if a power cut leaves a record without its output.
//
// The format is in docs/formats.md.
package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mrlocal/input"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/paths"
	"mrlocal/jobs"
	"mrlocal/shuffle"
	"mrlocal/slots/report"
)

// syncAfter is how long a map output may wait until it is synced. A short run removes its
// outputs before it syncs them. That is faster, because freeing blocks that are on the disk takes
// longer than syncing them in the background.
const syncAfter = 5 * time.Second

// Journal is the journal of one run. Commit and Create may be called from any goroutine, the
// other methods from one at a time.
type Journal struct {
	name     string // of the directory, as the user wrote it
	kept     *disk.KeptTemp
	head     []byte         // lines of this run up to the splits; nil: they are in file
	file     *disk.File     // nil: the head is not written yet
	bytes    int64          // of whole lines in file
	splits   int            // number of maps
	division *Division      // of the killed run; nil: there was none
	maps     map[int]record // by task, the last one of each

	wait     time.Duration // syncAfter; tests set less
	recorded chan struct{} // wakes the goroutine of syncAll; holds one token
	syncer   sync.WaitGroup

	mu struct {
		sync.Mutex
		closed    bool
		syncing   bool     // the goroutine of syncAll has begun
		committed int      // outputs that are recorded
		unsynced  []string // paths of outputs that may not survive a power cut
		err       error    // the first one; records behind a failed write could not be read
	}
}

// Division describes how the keys of a job are divided among its reduces.
type Division struct {
	Parts  int      `json:"reduces"`          // reduce tasks
	Spread int      `json:"spread,omitempty"` // number of maps, if a frequent key may have several parts; 0: it has one
	Cuts   [][]byte `json:"cuts"`             // cut points between the parts of a total order; nil: parts are by hash
}

// record is the line of a committed map.
type record struct {
	Task int    `json:"map"`
	File string `json:"file"` // name in the directory; "": the map has emitted no record
	shuffle.Stored
	Counters report.Counters `json:"counters"`
}

// Run describes a run for its journal: all on which the map outputs depend in addition to the inputs, and
// where files go.
type Run struct {
	Job      *jobs.Job
	Settings []string       // options and engine.Options.ResumeSettings: lines of the form name=value
	Side     string         // file of side data; "": none
	Temp     *disk.TempRoot // bounds the bytes of map outputs
	Output   string         // file or directory of the result; "": there is none
}

// Names of settings that have messages of their own.
const (
	buildSetting = "the build"
	sideSetting  = "Options.Side"
)

// lines returns the settings of the first line of the journal, of the form name=value. It fails if the
// file of the program or of the side data cannot be read.
func (r *Run) lines(blockBytes int64) ([]string, error) {
	build, err := buildID()
	if err != nil {
		return nil, errs.Fieldf("Options.ResumeDir", "the program's own file cannot be read, so another build would not be noticed: %w", errs.Cause(err))
	}
	j := r.Job
	lines := append([]string{fmt.Sprintf("Options.BlockBytes=%d", blockBytes)}, r.Settings...)
	// The first difference is named. What the user chooses comes before what follows from it.
	lines = append(lines,
		fmt.Sprintf("Job.Name=%s", j.Name), fmt.Sprintf("Job.Delim=%v", j.Delim), fmt.Sprintf("Job.RecordBytes=%d", j.RecordBytes), fmt.Sprintf("Job.SkipBinary=%v", j.SkipBinary), fmt.Sprintf("Job.Ordered=%v", j.Ordered),
		buildSetting+"="+build)
	if r.Side != "" {
		if info, err := os.Stat(r.Side); err == nil && !info.Mode().IsRegular() {
			return nil, errs.Inputf(r.Side, "is not a regular file, which %s needs to know it again", errs.Field("Options.ResumeDir"))
		}
		digest, err := digestOf(r.Side)
		if err != nil {
			return nil, errs.Inputf(r.Side, "%w", errs.Cause(err))
		}
		lines = append(lines, sideSetting+"="+digest)
	}
	return lines, nil
}

// Open finds the journal in the directory dir, or makes a directory for one. It fails if another
// run uses dir, or if the journal there is that of a different run. Errors that the user causes
// are of kind BadOptions or BadInput. The caller closes the Journal.
func Open(dir string, plan *input.Plan, r Run) (*Journal, error) {
	switch {
	case r.Job.NewReducer == nil:
		return nil, errs.Fieldf("Options.ResumeDir", "%s has no reduces here; only jobs with reduces can go on after a kill", r.Job.Name)
	case r.Job.NoInput:
		return nil, errs.Fieldf("Options.ResumeDir", "%s finds its input by itself, so a change of it after a kill would not be noticed; run it without", r.Job.Name)
	// The directory is removed when the run has succeeded, so it must not hold the result.
	case r.Output != "" && paths.Overlap(dir, r.Output):
		return nil, errs.Fieldf("Options.ResumeDir", "%s: overlaps the output %s; give a name outside", dir, r.Output)
	case len(plan.Streams) > 0:
		return nil, errs.Inputf(plan.Files[plan.Streams[0]].Path, "is read as a stream, which %s cannot go on with; give it as a plain file", errs.Field("Options.ResumeDir"))
	}
	for _, s := range r.Settings {
		if name, _, ok := strings.Cut(s, "="); !ok || name == "" {
			return nil, errs.Fieldf("Options.ResumeSettings", "%q: not of the form name=value", s)
		}
	}
	settings, err := r.lines(plan.BlockBytes())
	if err != nil {
		return nil, err
	}
	kept, err := disk.KeepTemp(dir, r.Temp)
	if err != nil {
		return nil, err
	}
	j := &Journal{name: dir, kept: kept, splits: len(plan.Splits), maps: map[int]record{}, wait: syncAfter, recorded: make(chan struct{}, 1)}
	if err = j.open(settings, plan); err != nil {
		j.Close(false)
		return nil, err
	}
	return j, nil
}

// open makes the head of this run and compares it with a journal that was found.
func (j *Journal) open(settings []string, plan *input.Plan) (err error) {
	// A journal in a directory of inputs would change the inputs of the next run: its files would
	// be among them.
	for _, at := range []string{j.name, filepath.Dir(filepath.Clean(j.name))} {
		if info, err := os.Stat(at); err == nil {
			if in, is := plan.Directory(info); is {
				return j.refuse("lies in the input directory %s", in)
			}
		}
	}
	if j.head, err = headOf(settings, plan); err != nil || !j.kept.Found {
		return err
	}
	if j.file, err = disk.OpenFile(filepath.Join(j.kept.Path, disk.JournalName), os.O_RDWR, 0); err != nil {
		return j.refuse("%v", errs.Cause(err))
	}
	if err := j.read(plan); err != nil {
		return err
	}
	j.removeOrphans()
	return nil
}

// refuse returns an error of kind BadOptions about the directory.
func (j *Journal) refuse(format string, args ...any) error {
	return errs.Optionf("resume directory "+j.name, format, args...)
}

// Division returns how the killed run has divided keys; nil: there was no such run, or it has
// not begun its journal, or j is nil.
func (j *Journal) Division() *Division {
	if j == nil {
		return nil
	}
	return j.division
}

// Temp returns the directories to which map outputs go, for an estimate of their free space. It
// returns those of the journal, or temp if j is nil. It returns nil if some of the outputs exist
// already, so that an estimate is not possible.
func (j *Journal) Temp(temp *disk.TempRoot) *disk.TempRoot {
	switch {
	case j == nil:
		return temp
	case j.division != nil:
		return nil
	}
	return temp.At(j.name)
}

// Begin writes the head of a new journal, with the division of this run. From then on maps may
// commit. It is called once, unless Division has returned the division of a killed run.
func (j *Journal) Begin(d Division) error {
	text, err := appendLine(j.head, d)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.mu.closed { // the run was interrupted while its job was opened
		return j.failed(fs.ErrClosed)
	}
	name := filepath.Join(j.kept.Path, disk.JournalName)
	// The file gets its name when its head is on disk, so that a crash leaves no half of a head.
	if j.file, err = disk.OpenFile(name+".new", os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600); err != nil {
		return j.failed(err)
	}
	_, err = j.file.Write(text)
	if err = errors.Join(err, j.file.Sync()); err == nil {
		err = errors.Join(disk.Move(name+".new", name), disk.SyncPath(j.kept.Path), disk.SyncPath(filepath.Dir(j.kept.Path)))
		_ = disk.SyncPath(filepath.Dir(filepath.Clean(j.name))) // it may not be readable
	}
	j.bytes, j.head = int64(len(text)), nil
	return j.failed(err)
}

// failed adds the directory to an error. It returns nil for nil.
func (j *Journal) failed(err error) error {
	return errs.About("resume directory "+j.name, err)
}

// mapPrefix begins the names of map outputs.
const mapPrefix = "map-"

// Create makes the file of a map output, in the directory of the journal.
func (j *Journal) Create() (*disk.TempFile, error) { return j.kept.Create(mapPrefix + "*") }

// Commit records the output of a map task and its counters. When it returns nil, the map does not
// run again after a kill. After a power cut this holds for outputs older than syncAfter. Commit
// does not wait for the disk. If a sync fails, the next Commit returns its error.
func (j *Journal) Commit(task int, out shuffle.Stored, c *report.Counters) error {
	r := record{Task: task, Stored: out, Counters: *c}
	if out.Path != "" {
		r.File = filepath.Base(out.Path)
	}
	line, err := appendLine(nil, &r)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.mu.err == nil && j.mu.closed {
		j.mu.err = fs.ErrClosed
	}
	if j.mu.err == nil {
		// Each record is one write behind the last whole record, so that only the last record can
		// be torn.
		_, j.mu.err = j.file.WriteAt(line, j.bytes)
	}
	if j.mu.err != nil {
		return j.failed(j.mu.err)
	}
	j.bytes += int64(len(line))
	j.mu.committed++
	if out.Path != "" {
		j.mu.unsynced = append(j.mu.unsynced, out.Path)
	}
	if !j.mu.syncing {
		j.mu.syncing = true
		j.syncer.Go(j.syncAll)
	}
	select {
	case j.recorded <- struct{}{}:
	default:
	}
	return nil
}

// syncAll is a goroutine that syncs records at once, and outputs in groups, until the journal is
// closed.
func (j *Journal) syncAll() {
	var due <-chan time.Time // nil: no output waits
	for {
		var err error
		select {
		case _, open := <-j.recorded:
			if !open {
				return
			}
			if due == nil {
				due = time.After(j.wait)
			}
			err = errors.Join(disk.SyncPath(j.kept.Path), j.file.Sync())
		case <-due:
			due = nil
			err = j.syncOutputs()
		}
		j.mu.Lock()
		j.mu.err = cmp.Or(j.mu.err, err)
		j.mu.Unlock()
	}
}

// syncOutputs syncs the outputs that wait. It ends early if the journal is closed.
func (j *Journal) syncOutputs() error {
	for {
		j.mu.Lock()
		if len(j.mu.unsynced) == 0 || j.mu.closed {
			j.mu.Unlock()
			return nil
		}
		path := j.mu.unsynced[0]
		j.mu.unsynced = j.mu.unsynced[1:]
		j.mu.Unlock()
		if err := disk.SyncPath(path); err != nil {
			return err
		}
	}
}

// NoteKept notes for the user, after a run that failed, how many map outputs the next run finds
// in the directory.
func (j *Journal) NoteKept(note func(string)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.mu.committed > 0 {
		note(fmt.Sprintf("%s keeps map outputs (%d): the same command goes on", j.name, j.mu.committed))
	}
}

// Output is the output of a map that a killed run has committed. The caller of Outputs owns the
// MapOutput.
type Output struct {
	Output   *shuffle.MapOutput
	Counters report.Counters
}

// Outputs returns the committed outputs of the killed run, by map task. parts is the number of
// reduces. It notes how many outputs there are, and for each that cannot be read, why its map runs
// again. It is called once, before any Commit.
func (j *Journal) Outputs(parts int, note func(string)) map[int]*Output {
	found := map[int]*Output{}
	var lost []string
	for _, task := range slices.Sorted(maps.Keys(j.maps)) {
		r := j.maps[task]
		if r.File != "" {
			r.Path = filepath.Join(j.kept.Path, filepath.Base(r.File))
		}
		out, err := shuffle.Restore(r.Stored, parts)
		if err != nil {
			lost = append(lost, fmt.Sprintf("map %d runs again: %v", task, err))
			continue
		}
		found[task] = &Output{Output: out, Counters: r.Counters}
		found[task].Counters.ResumedMaps = 1
	}
	note(fmt.Sprintf("goes on with a run that has ended early, with %d of %s done", len(found), errs.Counted(j.splits, "map")))
	for _, text := range lost {
		note(text)
	}
	// No attempt commits before the job is submitted, so mu is not needed here.
	j.mu.committed, j.maps = len(found), nil
	return found
}

// removeOrphans removes the files of outputs that were not committed.
func (j *Journal) removeOrphans() {
	used := map[string]bool{}
	for _, r := range j.maps {
		used[r.File] = true
	}
	entries, _ := disk.ReadDir(j.kept.Path)
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, mapPrefix) && !used[name] {
			_ = disk.Remove(filepath.Join(j.kept.Path, name)) // a file that stays only takes space
		}
	}
}

// Close ends the goroutine that syncs, and unlocks the directory. It removes the directory if the
// run has succeeded, or if no journal was begun. It may be called again.
func (j *Journal) Close(succeeded bool) (err error) {
	j.mu.Lock()
	if !j.mu.closed {
		j.mu.closed = true
		close(j.recorded)
	}
	j.mu.Unlock()
	j.syncer.Wait()
	// A directory without a journal is removed even if the run has failed.
	begun := j.kept.Found || j.file != nil
	if j.file != nil {
		err = j.file.Close()
		j.file = nil
	}
	return errors.Join(err, j.kept.Close(succeeded || !begun))
}
