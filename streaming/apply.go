package streaming

import (
	"errors"
	"os"
	"time"

	"mrlocal/errs"
	"mrlocal/streaming/records"
)

// Result is where the output of a Work goes when a caller has said so; the zero value
// leaves it to the arguments.
type Result struct {
	Dir, File string
	Stream    bool // to standard output
}

// Exists reports whether the output directory of the arguments is there already, which
// Hadoop refuses before the job starts.
func (w *Work) Exists() bool {
	if w.Output == "" {
		return false
	}
	_, err := os.Lstat(w.Output)
	return err == nil
}

// Overwrites returns an error if file is one of the inputs: the engine does not know
// these.
func (w *Work) Overwrites(file string) error {
	info, err := os.Stat(file)
	if file == "" || err != nil {
		return nil
	}
	for _, s := range w.splits {
		if in, err := os.Stat(s.Path); err == nil && os.SameFile(in, info) {
			return errs.Optionf("Options.OutputFile", "%s: is an input", file)
		}
	}
	return nil
}

// Shown returns a path as Hadoop shows it in messages: file:/absolute/path.
func Shown(path string) string { return records.Qualify(path) }

// Timeout returns after how long without progress a task fails; 0: the arguments do not
// say.
func (w *Work) Timeout() time.Duration {
	switch {
	case !w.conf.Has("mapreduce.task.timeout"):
		return 0
	case w.TimeoutMS == 0: // never
		return 1 << 62
	}
	return time.Duration(w.TimeoutMS) * time.Millisecond
}

// Tries returns how often a task is tried; 0: the arguments do not say.
func (w *Work) Tries() int {
	if !w.conf.Has("mapreduce.map.maxattempts") {
		return 0
	}
	return w.MaxTries
}

// Close removes what the job has unpacked. Working directories of attempts go with
// their attempts. A nil Work has nothing.
func (w *Work) Close() error {
	if w == nil {
		return nil
	}
	var all []error
	for _, dir := range w.ship.dirs {
		all = append(all, os.RemoveAll(dir))
	}
	return errors.Join(all...)
}

// tempPrefix begins the names of directories in TempDir.
const tempPrefix = "mrlocal-streaming-"
