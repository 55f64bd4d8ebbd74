package output

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"mrlocal/internal/disk"
	"mrlocal/internal/invariant"
	"mrlocal/internal/paths"
)

// Hadoop uses the first two names, so its tools recognize a finished directory.
const (
	tempName    = "_temporary"
	successName = "_SUCCESS"

	// markName is a file in `_temporary`. It says that mrlocal made that directory.
	markName = ".mrlocal"
)

// committer is a place with part files. The result is built in a directory called the stage. The
// names are those of Hadoop's FileOutputCommitter, so that its tools find them.
//
//	stage/_temporary/.mrlocal                           says that mrlocal made it
//	stage/_temporary/attempt_r_000003_0/part-r-00003    written by an attempt
//	stage/_temporary/task_r_000003/part-r-00003         its attempt has won
//	stage/part-r-00003, stage/_SUCCESS                  published
//
// Lock order: committer.mu before fileAttempt.mu.
type committer struct {
	name   string // as the user gave it
	suffix string // of part files
	style  DirStyle

	mu struct {
		sync.Mutex
		stage  stage
		state  state
		tasks  map[string][]string       // by directory of a task: the files of the attempt that has won, with paths below the stage
		parts  int                       // tasks that write a part and have a winner
		open   map[*fileAttempt]struct{} // attempts that have not committed
		merged *fileAttempt              // has all parts in order; nil: each attempt has a file
		own    bool                      // an attempt with files of user code has won
	}
}

// stage is the directory in which a committer builds its result, on this machine or on HDFS. The committer
// calls one function at a time.
type stage struct {
	files
	make    func() error // makes the stage, and a marked `_temporary` in it
	clear   func() error // removes what attempts have left; the parts are durable then
	publish func() error // gives the complete stage the name of the result; it must be quick
	settle  func() error // makes the name durable, or removes the result
	drop    func() error // removes what make and later calls have made; idempotent
}

// files is the file system of a stage. Paths have slashes, and begin below the stage.
type files interface {
	create(path string) (file, error) // makes a file, and the directory above it
	move(from, to string) error
	remove(path string) error // with everything below it
}

// file is a new file of a stage. Close makes the file durable. Any goroutine may call Abort, also
// during a Write, and again. Abort drops the file.
type file interface {
	io.WriteCloser
	Abort()
}

// newCommitter returns the place of a result that is built in s.
func newCommitter(spec Spec, s stage) *committer {
	c := &committer{name: spec.Dir, suffix: spec.Compress.Suffix(), style: spec.DirStyle}
	c.mu.stage = s
	c.mu.tasks = make(map[string][]string)
	c.mu.open = make(map[*fileAttempt]struct{})
	return c
}

// start implements place.
func (c *committer) start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.mu.stage.make(); err != nil {
		return err
	}
	invariant.Move(&c.mu.state, started)
	return nil
}

// newAttempt returns attempt n of a task, without a part file.
func (c *committer) newAttempt(task, n int, isMap bool) *fileAttempt {
	kind := paths.KindLetter(isMap)
	return &fileAttempt{
		of:     c,
		dir:    path.Join(tempName, fmt.Sprintf("attempt_%s_%06d_%d", kind, task, n)),
		won:    path.Join(tempName, fmt.Sprintf("task_%s_%06d", kind, task)),
		suffix: fmt.Sprintf("-%s-%05d%s", kind, task, c.suffix),
	}
}

// attempt makes the directory and the part file of attempt n of a task. It overwrites a local file
// that an attempt with the same number has left.
func (c *committer) attempt(task, n int, mapOnly bool) (_ *fileAttempt, err error) {
	a := c.newAttempt(task, n, mapOnly)
	name := "part" + a.suffix
	if c.style.PlainNames {
		name = fmt.Sprintf("part-%05d%s", task, c.suffix)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.state != started {
		return nil, ErrAborted
	}
	if a.part, err = a.create(name); err != nil {
		return nil, err
	}
	c.mu.open[a] = struct{}{}
	return a, nil
}

// sink implements place: it makes a single part file, to which all parts are written in order. On
// HDFS nothing can be dropped from it.
func (c *committer) sink(mapOnly bool) (*sink, error) {
	a, err := c.attempt(0, 0, mapOnly)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.mu.merged = a
	c.mu.Unlock()
	if f, local := a.part.file.(localFile); local {
		return f.sink, nil
	}
	return &sink{w: a}, nil
}

// sync implements place. It commits the single part file. Part files of attempts are durable since
// their commit.
func (c *committer) sync() error {
	c.mu.Lock()
	a := c.mu.merged
	c.mu.Unlock()
	if a == nil {
		return nil
	}
	return a.Commit()
}

// publish implements place. It moves the parts up and writes `_SUCCESS`, without which no reader
// takes the result as complete. Each rename is atomic, but all of them together are not. publish has
// to be quick, because abort waits for c.mu.
func (c *committer) publish(parts int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.mu.stage
	if c.mu.state != started {
		return ErrAborted
	}
	if c.mu.merged == nil && c.mu.parts != parts {
		return fmt.Errorf("output %s: %d of %d parts were written", quoteName(c.name), c.mu.parts, parts)
	}
	local, isLocal := s.files.(*localStage)
	for _, task := range slices.Sorted(maps.Keys(c.mu.tasks)) {
		for _, won := range c.mu.tasks[task] {
			if err := s.move(won, path.Base(won)); err != nil {
				return err
			}
		}
		if isLocal && c.mu.own {
			if err := moveAll(local.below(path.Join(task, filesName)), local.stage); err != nil {
				return fmt.Errorf("output: %w", err)
			}
		}
	}
	if err := s.clear(); err != nil {
		return err
	}
	if !c.style.NoSuccess {
		f, err := s.create(successName)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return err
		}
	}
	if err := s.publish(); err != nil {
		return err
	}
	invariant.Move(&c.mu.state, committed)
	return nil
}

// settle implements place.
func (c *committer) settle() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.stage.settle()
}

// abort implements place. It ends all attempts, and removes what the run has made. Files of other
// programs stay. It may be called again.
func (c *committer) abort() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	invariant.Reach(&c.mu.state, aborted)
	for a := range c.mu.open {
		a.Abort()
	}
	return c.mu.stage.drop()
}

// fileAttempt is an attempt with a part file, and with files of named outputs. It implements Part.
type fileAttempt struct {
	of       *committer
	dir, won string      // directories below the stage before and after the commit
	suffix   string      // of named outputs
	part     *partFile   // nil: the attempt is one of Target.Bare
	ended    atomic.Bool // Commit or Abort was called; only the first of these calls counts

	mu struct {
		sync.Mutex
		files []*partFile // part is the first one
		own   string      // what Dir has returned; "": nothing
	}
}

// partFile is a file of an attempt.
type partFile struct {
	file
	attempt *fileAttempt
	name    string // below the directory of the attempt
	bytes   int64
}

// create makes a file of the attempt. The caller holds a.of.mu.
func (a *fileAttempt) create(name string) (*partFile, error) {
	f, err := a.of.mu.stage.create(path.Join(a.dir, name))
	if err != nil {
		return nil, err
	}
	p := &partFile{file: f, attempt: a, name: name}
	a.mu.Lock()
	a.mu.files = append(a.mu.files, p)
	a.mu.Unlock()
	if a.ended.Load() { // Abort has not seen the file
		f.Abort()
		return nil, ErrAborted
	}
	return p, nil
}

// Write implements io.Writer.
func (p *partFile) Write(data []byte) (int, error) {
	if p.attempt.ended.Load() {
		return 0, ErrAborted
	}
	n, err := p.file.Write(data)
	p.bytes += int64(n)
	if err != nil && p.attempt.ended.Load() {
		err = ErrAborted
	}
	return n, err
}

// Write implements Part.
func (a *fileAttempt) Write(data []byte) (int, error) { return a.part.Write(data) }

// Beside implements Besides.
func (a *fileAttempt) Beside(name string) (io.Writer, error) {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	if a.of.mu.state != started {
		return nil, ErrAborted
	}
	return a.create(name + a.suffix)
}

// Commit implements Part. It makes the files of the attempt durable, and then makes the attempt the
// winner of its task.
func (a *fileAttempt) Commit() (err error) {
	if a.ended.Swap(true) {
		return ErrAborted
	}
	a.mu.Lock()
	files := a.mu.files // create drops a file that comes after ended is set
	a.mu.Unlock()
	for _, f := range files {
		err = cmp.Or(err, f.Close())
	}
	err = cmp.Or(err, a.syncOwn())
	c := a.of
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mu.open, a)
	if c.mu.state != started { // the files are gone, and a new run may use their names
		return ErrAborted
	}
	if err == nil {
		err = a.win(files)
	}
	if err != nil {
		a.drop()
	}
	return err
}

// win renames the directory of the attempt to that of its task. If another attempt has won, it
// removes the directory and returns ErrLost. The caller holds a.of.mu.
func (a *fileAttempt) win(files []*partFile) (err error) {
	c := a.of
	if _, taken := c.mu.tasks[a.won]; taken {
		return errors.Join(ErrLost, c.mu.stage.remove(a.dir))
	}
	var won []string
	for _, f := range files {
		// The bytes of the single part file bypass Write (fileSink), so they are not counted.
		if !c.style.OmitEmpty || f.bytes > 0 || a == c.mu.merged {
			won = append(won, path.Join(a.won, f.name))
		}
	}
	hasOwn := a.ownExists()
	if len(won) == 0 && !hasOwn {
		err = c.mu.stage.remove(a.dir)
	} else {
		err = c.mu.stage.move(a.dir, a.won)
	}
	if err != nil {
		return err
	}
	c.mu.tasks[a.won] = won
	c.mu.own = c.mu.own || hasOwn
	if a.part != nil {
		c.mu.parts++
	}
	return nil
}

// Abort implements Part.
func (a *fileAttempt) Abort() {
	if !a.ended.Swap(true) {
		a.drop()
	}
}

// drop drops the files of the attempt.
func (a *fileAttempt) drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.mu.files {
		f.file.Abort()
	}
	if a.mu.own != "" {
		_ = disk.RemoveAll(filepath.Dir(a.mu.own)) // if it fails, the removal of `_temporary` does it
	}
}

// filesName is the directory of an attempt, next to its part, in which user code makes files of its own.
const filesName = "_files"

// HasDir is a Part whose attempt may have a directory for files that user code makes by itself.
type HasDir interface {
	// Dir returns the absolute path of the directory. The files in it commit and abort with the part: they move
	// into the directory of the result, with the directories in which they lie. Later tasks replace files of the same
	// name, maps before reduces. The directory exists, unless the part is one of Target.Bare. The path is "" if the
	// result is not a directory on this machine.
	Dir() (string, error)
}

// Bare begins attempt n at a map whose job has reduces. It writes no part of the result, and is only for Dir.
func (t *Target) Bare(task, n int) (Part, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.place.(*committer)
	if !ok {
		return nil, errors.New("output: files of attempts need a directory")
	}
	return t.part(c.newAttempt(task, n, true), nil)
}

// Dir implements HasDir.
func (p *targetPart) Dir() (string, error) {
	if d, ok := p.Part.(HasDir); ok {
		dir, err := d.Dir()
		return dir, named(p.name, err)
	}
	return "", nil
}

// Dir implements HasDir.
func (a *fileAttempt) Dir() (string, error) {
	c := a.of
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.state != started {
		return "", ErrAborted
	}
	local, ok := c.mu.stage.files.(*localStage)
	if !ok {
		return "", nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	c.mu.open[a] = struct{}{}
	if a.mu.own = local.below(path.Join(a.dir, filesName)); a.part == nil {
		return a.mu.own, nil
	}
	err := disk.MakeDir(a.mu.own, 0o777)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return a.mu.own, err
}

// syncOwn makes the files in the directory of the attempt durable.
func (a *fileAttempt) syncOwn() error {
	a.mu.Lock()
	dir := a.mu.own
	a.mu.Unlock()
	if dir == "" {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case path == dir && errors.Is(err, fs.ErrNotExist): // user code has not made it
			return nil
		case err == nil && (d.IsDir() || d.Type().IsRegular()):
			return syncAny(path)
		}
		return err
	})
}

// syncAny makes a file, or the names in a directory, durable. A file system that cannot do it is not an error.
func syncAny(path string) error {
	f, err := disk.OpenRead(path)
	if err != nil {
		return err
	}
	return errors.Join(disk.SyncFile(f), f.Close())
}

// ownExists reports whether the directory that Dir has returned exists.
func (a *fileAttempt) ownExists() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err := os.Lstat(a.mu.own)
	return a.mu.own != "" && err == nil
}

// moveAll moves the entries of the directory from into the directory to, and replaces what has their names there.
// Two directories of one name become one, as in Hadoop (FileOutputCommitter.mergePaths).
func moveAll(from, to string) error {
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if err != nil {
			return err
		}
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		info, missing := os.Lstat(target)
		if missing == nil && info.IsDir() && e.IsDir() {
			err = moveAll(source, target)
			continue
		}
		if missing == nil {
			err = disk.RemoveAll(target)
		}
		if err == nil {
			err = disk.Move(source, target)
		}
	}
	return errors.Join(err, syncAny(to))
}
