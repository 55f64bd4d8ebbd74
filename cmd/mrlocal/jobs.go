package main

import (
	"io"
	"os"
	"os/user"
	"slices"
	"strconv"

	"mrlocal"
	"mrlocal/hadoop/streaming"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/setting"
	"mrlocal/jobs"
)

// NamedJob is a job that run, tune, profile and workload files know by name.
type NamedJob struct {
	Name, Use string     // Use is the line of help
	Examples  []string   // the arguments after "mrlocal run NAME"
	Make      func(*Job) // sets the fields of a use of the job, but not its NamedJob
	OnHadoop  bool       // submit and stream have it: it reads no file by itself
}

// Job is one use of a job: on a command line or in a workload file. The commands know nothing else about
// single jobs: whatever one job needs and the others do not is a field.
type Job struct {
	*NamedJob
	mrlocal.Options // of its run; a workload file sets JobOptions alone

	Own     []setting.Setting          // the flags of this job alone
	Build   func() (jobs.Chain, error) // makes the chain and changes Options as the job needs them; Complete comes before
	Takes   int                        // the number of inputs: noInput, or 0 for any number above 0
	Without []string                   // the flags of run that it does not take
	Matches bool                       // the exit code says whether anything matched

	InOrder  func() bool  // on Hadoop: the values of a key must keep the order of the input; nil: they need not
	AnyFiles func() error // on Hadoop: fails if the job depends on the number of input files; nil: it does not

	Words []string // the inputs that were given without a flag
	Notes []string // Build sets them: what the user should know
	Quiet bool     // no progress, and no lines of status of commands

	// For the job streaming.
	Log       io.Writer       // gets the standard error of the commands, and warnings; nil: dropped, as in a workload file
	Stream    *streaming.Work // Build sets it, and the user of the job closes it; nil: another job
	Compat    string          // "strict", "friendly" or "": not given
	StderrDir string          // keeps the standard error of each attempt; "": shown
}

// Jobs lists the jobs in the order of the help. A new job gets a line here or in paperJobs.
func Jobs() []NamedJob {
	return append([]NamedJob{
		{Name: "wordcount", Use: "count words; prints word, TAB, count, in byte order of the word", Examples: []string{"wiki/ -o words.txt", "--top 10 --alnum --ignore-case wiki/"}, Make: wordcountJob, OnHadoop: true},
		{Name: "sort", Use: "sort lines in byte order or by keys as in GNU sort", Examples: []string{"-k2,2nr words.txt -o by-count.txt", "--memory 64MiB words.txt --output sorted/"}, Make: sortJob, OnHadoop: true},
		{Name: "grep", Use: "count the matches of a pattern, most frequent first; --lines and the flags of GNU grep select lines", Examples: []string{"--input wiki/ --sched pi-dhfs", "-n -e '== .* ==' wiki/"}, Make: grepJob, OnHadoop: true},
		*StreamingJob().NamedJob,
	}, paperJobs()...)
}

// New returns a use of the job, whose settings are not set.
func (n *NamedJob) New() *Job {
	j := &Job{NamedJob: n, Options: mrlocal.Options{TempAtNeed: true}}
	n.Make(j)
	return j
}

// Settings returns the settings that say what the job reads, writes and does. They are the args of a job
// in a workload file.
func (j *Job) Settings() []setting.Setting {
	all := j.JobOptions.Fields()
	if !slices.ContainsFunc(j.Own, func(s setting.Setting) bool { return s.Short == "o" }) {
		setting.Named(all, "output-file").Short = "o"
	}
	return append(all, j.Own...)
}

// Given completes the options of a run by the line, whose settings are set. It fails as Complete does.
func (j *Job) Given(line *flags.Line) error {
	// In the options, 0 reduce slots stand for the default. NoReduces says that the user wants none.
	j.NoReduces = line.Has("reduce-slots") && j.ReduceSlots == 0
	return j.Complete(line.Words)
}

// Complete checks and completes what Settings have set. words are further inputs. It fails with an
// options error.
func (j *Job) Complete(words []string) error {
	j.Words, j.Inputs = words, append(j.Inputs, words...)
	j.UTF16 = j.UTF16 && !j.NoDecode
	j.HDFS.User = HDFSUser(j.HDFS.User, append(words, append(j.Inputs, j.OutputDir)...))
	switch {
	// An empty path often comes from a shell variable that is not set. Without this check it would
	// mean the working directory.
	case slices.Contains(j.Inputs, ""):
		return errs.Optionf("input", "an empty path")
	case j.Takes == noInput && len(j.Inputs) > 0:
		return errs.Optionf(j.Name, "reads no input")
	case j.Takes != noInput && len(j.Inputs) == 0:
		return errs.Optionf("no input", "name files, directories or globs, or - for standard input")
	case j.Takes > 0 && len(j.Inputs) != j.Takes:
		return errs.Optionf(j.Name, "takes %d inputs, not %d; quote a glob, so that the shell leaves it alone", j.Takes, len(j.Inputs))
	case j.OutputDir == "-":
		return errs.Optionf("--output", "-: standard output cannot hold a directory of parts; give --output-file -, or ./- for a directory of that name")
	// A file is replaced in any case, so --overwrite without a directory has no effect. The user
	// expects one, and learns that here.
	case j.Overwrite && j.OutputDir == "":
		return errs.Optionf("--overwrite", "needs --output DIR; --output-file replaces a file anyway")
	}
	// In the options, an empty OutputFile stands for standard output. If --output is given too, the
	// value stays, and the engine refuses the pair.
	if j.OutputFile == "-" && j.OutputDir == "" {
		j.OutputFile = ""
	}
	return nil
}

// HDFSUser returns the name of the user for HDFS: user or, if it is "" and one of the paths lies on HDFS,
// who runs the process. It is a number if the system knows no name, as in some containers.
func HDFSUser(name string, paths []string) string {
	if name != "" || !slices.ContainsFunc(paths, hdfs.Is) { // only HDFS needs the name
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// ForEachJob returns c with a subcommand for each job that of accepts; nil: for all. make returns its
// settings and its work.
func ForEachJob(c flags.Command, of func(*NamedJob) bool, make func(*Job) *flags.Command) *flags.Command {
	c.Args = "JOB [FLAGS] [PATH…]"
	for _, n := range Jobs() {
		if of == nil || of(&n) {
			c.Sub = append(c.Sub, flags.Entry{Name: n.Name, Make: func() *flags.Command {
				sub := make(n.New())
				sub.Usage, sub.Args, sub.Long = n.Use, "[PATH…]", c.Long
				return sub
			}})
		}
	}
	return &c
}
