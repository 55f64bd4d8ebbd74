// Package workload reads workload files.
//
// A workload file (docs/workloads.md) lists jobs that arrive in pools, on a cluster.
// Load and Parse read the YAML and check all of it. They return a File in which
// references are indexes and defaults are applied. The first mistake becomes an error
// with file, line and column. The YAML parser gets a long file in pieces, which bounds the
// memory of the tree.
//
// Times are the durations of simulated tasks: a pure function of seed, job and task.
//
// Memory: a File belongs to the caller. The package does not change it after it is returned.
package workload

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
	"mrlocal/internal/setting"
	"mrlocal/slots"
	"mrlocal/slots/setup"
)

// Pos is a place in a workload file. Lines and columns count from 1.
// The zero Pos means that the file does not give the value.
type Pos struct{ Line, Column int }

// File is a workload: jobs that arrive in pools, on a cluster. Load and Parse return
// a File that is checked completely. The text refers to a job by its name, and File by the
// job's index in Jobs.
type File struct {
	Name string // of the file, for messages

	setup.Config         // fields that the file does not give are zero or nil
	Cluster      Cluster // the hardware of each tracker, for the simulator
	// Jobs are in the order of the file.
	Jobs []ListedJob

	Experiments []Experiment // of papers, with these jobs

	Measured *Measured // the times of real jobs; nil: the file has no such section

	trackersAt []trackerAt      // the trackers of slow, capacities and faults
	keys       map[string]keyAt // the keys that set fields of Config, by the names of the fields in errors

	text string // the whole file, for Changed; empty if there are no Experiments
}

// Cluster is what each tracker has in addition to its slots; 0: not given.
// All trackers are alike, apart from Config.Slow and Config.Capacities.
type Cluster struct {
	Cores                   int
	DiskBytes, NetBytes     int64      // per second
	MapWeight, ReduceWeight int        // the slot weight of each kind; the file gives both or neither
	Overcommit              Overcommit // the cost of wanting too much of a resource

	// KernelBytes is the number of bytes that a core moves to or from disks and networks in
	// a second of kernel time; 0: not known.
	KernelBytes int64
	WarmUp      time.Duration // the additional time of the first attempt on each slot, at the cost level measured
	Buffer      Buffer
	Shuffle     Shuffle
}

// Buffer describes the kvbuffer of a simulated map. If StartBytes is 0, a map writes its
// output once, at its end. The other fields stand for Hadoop's default if they are zero.
type Buffer struct {
	StartBytes   int64     // capacity at the start (io.sort.mb)
	MemoryBytes  int64     // memory of the map's process; afm is this minus the capacity of the kvbuffer
	Growth       bool      // the kvbuffer grows by the rule of Dynamic Split
	SpillPercent ppm.Share // the spill mark, as a share of the capacity; 0: 0.8
	Threshold    ppm.Share // the kvbuffer grows only to less than this share of afm; 0: 0.8
	MergeFactor  int       // spills that one merge reads; 0: 10
}

// Shuffle bounds the copiers of a simulated reduce, and says when the reduce merges the
// segments that they copied. The zero value bounds nothing. Then a reduce sorts once, after
// it has copied everything.
type Shuffle struct {
	Copiers      int       // copies at a time (mapred.reduce.parallel.copies); 0: no bound, but ras takes slots.DefaultParallelCopies
	CopyBytes    int64     // bytes of one copy in a second; 0: bounded by the network only
	MemoryBytes  int64     // memory for segments; 0: the simulator counts no merges
	MergePercent ppm.Share // a merge starts when this share of MemoryBytes is full; 0: 0.66
	Segments     int       // a merge starts at this number of segments in memory; 0: 1000
	MergeFactor  int       // sorted runs on disk that one merge reads; 0: 10
}

// CopyRate returns the bytes that one reduce copies in a second at most. It is the lower one of two
// rates: of the tracker's network, and of all copiers together. 0 means that the file does not
// give the rate of the network.
func (c *Cluster) CopyRate() int64 {
	if c.Shuffle.Copiers == 0 || c.Shuffle.CopyBytes > c.NetBytes/int64(c.Shuffle.Copiers) {
		return c.NetBytes
	}
	return c.Shuffle.CopyBytes * int64(c.Shuffle.Copiers)
}

// Overcommit gives, for each resource, the number k of docs/workloads.md. If tasks together
// want W > 1 times the resource of their tracker, the resource works at 1/(1 + k(W - 1)) of
// its speed. With k = 0 the tasks share it at full speed.
type Overcommit = slots.Vector

// ListedJob is one job: simulated, real, or both.
// The fields after Submission are for the simulator, except Job and Args, which are for
// real runs.
type ListedJob struct {
	setup.Submission // Pool is never empty: without a pool in the file it is User, or Name

	Maps, Reduces       int
	MapTime, ReduceTime Times
	MapOutputBytes      int64          // the map output of each map, after the combiner
	MapEmitsBytes       int64          // bytes that each map collects before the combiner; 0: MapOutputBytes
	Load                *slots.Profile // what its tasks use; nil: its Profile, which policies know
	CPU                 ppm.Share      // cores that a task uses while it computes
	DiskBytes           int64          // bytes per second of each task in its phase io

	// MapInputBytes is the input of each map in bytes; 0: not known. File.Predicted sets it.
	MapInputBytes int64
	// Uses is what a task of each kind takes of the machine: maps at index 0, reduces at 1.
	// File.Predicted sets it, for the cost level measured.
	Uses [2]Use

	// StepOf is the name of the chain of which the job is a later stage; "": it is none. The input of
	// such a job has no place. File.Predicted sets it.
	StepOf string

	Job  string // the name of a real job, such as wordcount; "": the job can only be simulated
	Args []Arg  // the options of the real job, in the order of the file
	Pos  Pos
}

// Lower returns what both drivers take: the configuration of a run, and its jobs in
// the order of the file. Fields that over sets, for example from flags, replace
// those of the file. The result shares strings and lists with f, so f must not change while
// a run uses the result.
func (f *File) Lower(over setup.Config) (setup.Config, []setup.Submission) {
	jobs := make([]setup.Submission, len(f.Jobs))
	for i := range f.Jobs {
		jobs[i] = f.Jobs[i].Submission
	}
	return over.Or(f.Config), jobs
}

// SlotWeights returns the slot weights of the file. If the file has none, it returns zero
// weights, which bound nothing. They are not part of what Lower returns: the caller puts them into
// policy.Options, from which it makes the policy.
func (f *File) SlotWeights() slots.Weights {
	return slots.Weights{Map: int32(f.Cluster.MapWeight), Reduce: int32(f.Cluster.ReduceWeight)}
}

// Arg is an option of a real job, as in args: {input: [a, b], reducers: 3}. Numbers and
// booleans keep the text of the file. Nothing here checks names or values: the job does that
// when it is built.
type Arg struct {
	Name   string
	Values []string // at least one
	Pos    Pos
}

// realJobs returns the names of the jobs that can run for real, as docs/workloads.md lists
// them. cmd/mrlocal builds a job from each name.
func realJobs() []string {
	return []string{
		"wordcount", "sort", "grep", "streaming", "inverted-index", "ranked-inverted-index", "term-vector", "sequence-count", "self-join",
		"adjacency-list", "histogram-movies", "histogram-ratings", "kmeans", "classification", "terasort", "teravalidate",
		"randomtext", "combine", "select", "join", "sleep",
	}
}

// mostFileBytes bounds what Load reads. A file of a million jobs is shorter.
const mostFileBytes = 512 << 20

// Load reads and checks the workload file at path. It fails as Parse does, and if the file
// cannot be read. All its errors are of kind errs.BadInput.
func Load(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, errs.Inputf(path, "%w", errs.Cause(err))
	}
	defer f.Close()
	return Read(path, f)
}

// Read reads and checks a workload file from r. name stands in messages. Its errors are
// those of Load.
func Read(name string, r io.Reader) (*File, error) {
	text, err := Text(name, r)
	if err != nil {
		return nil, err
	}
	return Parse(name, text)
}

// Text returns the text of a workload file that r reads, or the beginning of one that is too long for Parse. name
// stands in messages. Its errors are of kind errs.BadInput. The caller owns the text.
func Text(name string, r io.Reader) ([]byte, error) {
	// One byte over the limit is enough for Parse to refuse the file as too long.
	text, err := io.ReadAll(io.LimitReader(r, mostFileBytes+1))
	if err != nil {
		return nil, errs.Inputf(name, "%w", errs.Cause(err))
	}
	return text, nil
}

// Errorf returns an error of kind errs.BadInput at a place of the file: name:line:column,
// then object unless it is empty, then the cause. A place inside of a change has no line.
func (f *File) Errorf(p Pos, object, format string, args ...any) error {
	if p.Line >= changedLine {
		p = Pos{}
	}
	return &errs.Error{Kind: errs.BadInput, Place: errs.Place{File: f.Name, Line: p.Line, Column: p.Column}, Object: object, Cause: fmt.Errorf(format, args...)}
}

// trackerAt is a tracker that the file names, with its place.
type trackerAt struct {
	tracker int
	at      Pos
}

// keyAt is a key of the file, with the place of its value.
type keyAt struct {
	name string
	at   Pos
}

// Keyed returns err with the place and name of the key, if it is about a field of Config that the file sets and over
// does not. Of several fields it leaves out those that neither sets. It returns any other error, and nil, as it is.
func (f *File) Keyed(err error, over setup.Config) error {
	e, ok := errors.AsType[*errs.Error](err)
	if !ok || !e.Fields {
		return err
	}
	var names []string
	var first *keyAt
	all := over.Fields(setup.Simulated())
	for field := range strings.SplitSeq(e.Object, ", ") {
		given := slices.ContainsFunc(all, func(s setting.Setting) bool { return s.Object() == field && s.Value.String() != "" })
		switch key, ofFile := f.keys[field]; {
		case given:
			names = append(names, field)
		case ofFile:
			names, first = append(names, key.name), cmp.Or(first, &key)
		}
	}
	if first == nil {
		return err
	}
	placed := f.Errorf(first.at, strings.Join(names, ", "), "%w", e.Cause).(*errs.Error)
	placed.Fields = true
	return placed
}

// CheckTrackers returns an error if the file names a tracker that a run with that number of trackers does not have.
func (f *File) CheckTrackers(trackers int) error {
	for _, t := range f.trackersAt {
		if t.tracker >= trackers {
			return f.Errorf(t.at, "tracker", "%w", setup.NoTracker(t.tracker, trackers))
		}
	}
	return nil
}

// CheckSimulated returns an error about the first job that cannot be simulated. Such a job
// is a real job without numbers of tasks, or a job without a time for its tasks. Parse does
// not check this, because a real run needs neither.
func (f *File) CheckSimulated() error {
	for i := range f.Jobs {
		j := &f.Jobs[i]
		switch {
		case j.Maps == 0 && j.Job != "":
			return f.Errorf(j.Pos, "job "+j.Name, "no maps: a simulated job gives the number of its tasks")
		case j.Maps > 0 && !j.MapTime.Given():
			return f.Errorf(j.Pos, "job "+j.Name, "no map_time, neither here nor in defaults")
		case j.Reduces > 0 && !j.ReduceTime.Given():
			return f.Errorf(j.Pos, "job "+j.Name, "no reduce_time, neither here nor in defaults")
		}
	}
	return nil
}

// CheckReal returns an error about the first job that cannot run for real, because it has no key
// job.
func (f *File) CheckReal() error {
	for i := range f.Jobs {
		if j := &f.Jobs[i]; j.Job == "" {
			return f.Errorf(j.Pos, "job "+j.Name, "can only be simulated: to run it, give job, as in {job: wordcount, args: {input: wiki/}}")
		}
	}
	return nil
}

// pieceBytes is the least size of a piece of a long file. The tree of a file takes some 24 bytes of
// memory for each byte of text. So the items of jobs are parsed in pieces, if jobs is at the top
// level and in block style (docs/adr/0056).
const pieceBytes = 64 << 10

// mostPieceBytes bounds a piece, and so the memory of its tree. A file with jobs in brackets, each
// job, and all that stands before or after the jobs, are in one piece.
const mostPieceBytes = 4 << 20

// mostDepth bounds the levels of brackets in brackets, and those of indentation. The parser calls
// itself for each of them, and a full stack ends the process.
const mostDepth = 50

// jobsLine is the line that stands before the items of a piece that is not the first.
const jobsLine = "jobs:\n"

// piece is a part of a file. Its first line is line skip + 1 of the file.
type piece struct {
	text string
	skip int
}

// cut divides a file into pieces of at least the given number of bytes, except the last one. All but
// the first begin with an item of jobs, and are valid YAML behind jobsLine. The last one also has
// what stands after the jobs. Indentation makes the cuts safe: everything inside an item is indented
// deeper than the item's dash.
func cut(text string, least int) []piece {
	pieces := []piece{{text, 0}}
	indent, inJobs := -1, false // the indentation of the items; -1: there was none yet
	start, at, number := 0, 0, 0
	for line := range strings.Lines(text) {
		word := strings.TrimLeft(line, " ")
		spaces := len(line) - len(word)
		dash := len(word) > 1 && word[0] == '-' && word[1] <= ' ' // any other dash begins a word
		switch {
		case insignificant(line): // it may have any indentation
		case !inJobs:
			after, ok := strings.CutPrefix(line, "jobs:")
			inJobs = ok && insignificant(after)
		case indent < 0 && !dash, spaces == 0 && !(dash && indent <= 0):
			return pieces // jobs has no items, or ends here
		case indent < 0:
			indent = spaces
		case spaces == indent && dash && at-start >= least:
			pieces[len(pieces)-1].text = text[start:at]
			pieces = append(pieces, piece{text[at:], number})
			start = at
		}
		at += len(line)
		number++
	}
	return pieces
}

// insignificant reports whether a line is blank or only a comment.
func insignificant(line string) bool {
	line = strings.TrimLeft(line, " \t\r\n")
	return line == "" || line[0] == '#'
}

// anchors has the anchored nodes of all pieces by name. A later anchor of the same name replaces
// an earlier one, as the YAML specification demands. The loader calls its methods.
type anchors map[string]*yaml.Node

func (a anchors) NewAliasDataContext(yaml.AliasDataServices) (yaml.AliasDataContext, error) {
	return a, nil
}
func (a anchors) BeginDocument() error { return nil }
func (a anchors) EndDocument() error   { return nil }

func (a anchors) DefineAnchor(name string, n *yaml.Node) error {
	a[name] = n
	return nil
}

func (a anchors) ResolveAlias(name string) (n *yaml.Node, found bool, err error) {
	if n, found = a[name]; !found {
		err = fmt.Errorf("there is no anchor %s before this", errs.Quote(name))
	}
	return n, found, err
}

// parse parses a text, and adds skip to the number of each line. It returns nil after an error, and
// if the text has nothing but comments.
func (d *decoder) parse(text string, skip int) *yaml.Node {
	if len(text) > mostPieceBytes {
		d.failAt(Pos{skip + 1, 1}, "", "more than %d MiB in one piece; only the items of jobs, each after a dash, may have more together", mostPieceBytes>>20)
		return nil
	}
	var doc, second yaml.Node
	loader, err := yaml.NewLoader(strings.NewReader(text), yaml.WithPlugin(d.anchors, loaderlimits.New(loaderlimits.DepthValue(mostDepth))))
	if err == nil {
		err = loader.Load(&doc)
	}
	if err == nil {
		err = loader.Load(&second)
	}
	switch e := (*yaml.LoadError)(nil); {
	case errors.As(err, &e):
		// Where the text ends too early, the place is that of what has no end.
		last := 1 + strings.Count(strings.TrimSuffix(text, "\n"), "\n")
		at, what := e.Mark, "not YAML: "
		if at.Line > last {
			at = e.ContextMark
		}
		if e.Stage == yaml.ComposerStage { // an error of anchors
			what = ""
		}
		d.failAt(Pos{skip + max(1, min(at.Line, last)), max(1, at.Column)}, "", "%s%s", what, e.Message)
	case err == nil:
		d.failAt(Pos{skip + second.Line, second.Column}, "", "a second document; a workload file has only one")
	case !errors.Is(err, io.EOF):
		d.failAt(Pos{skip + 1, 1}, "", "not YAML: %v", err)
	case len(doc.Content) > 0:
		down(doc.Content[0], skip)
		return doc.Content[0]
	}
	return nil
}

// down moves the places of n and of all nodes in it down by a number of lines.
func down(n *yaml.Node, lines int) {
	n.Line += lines
	for _, inner := range n.Content {
		down(inner, lines)
	}
}

// placeOf returns where a node begins. A mapping in block style begins at its first key.
func placeOf(n *yaml.Node) Pos { return Pos{n.Line, n.Column} }
