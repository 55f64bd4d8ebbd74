package command

import (
	"slices"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/internal/errs"
	"mrlocal/output"
	"mrlocal/slots"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
)

// Bounds of flags. The upper ones lie far above useful values, and far below values at which memory
// or time runs out.
const (
	MostSlots    = 2048 // of one kind on a tracker of a real run; each is a thread
	MostTrackers = 1024 // of a real run

	mostReducersPerSlot = 100 * slots.One // X of --reducers auto:X
	MostAttempts        = 1000            // --attempts
	LeastBlock          = 1 << 10         // --block-size, in bytes
)

// CompressOutputFlag returns --compress-output, which jobs and tools take. Reader.Compression reads
// it.
func CompressOutputFlag() argv.Spec {
	return argv.ValueSpec("compress-output", "compress the result, and each part of a directory, in blocks of 1 MiB: `auto|none|gz|zstd`", "auto: by the suffix .gz or .zst of the file")
}

// Compression reads --compress-output. After a mistake it returns the format of auto, and r.Err has
// the error.
func (r *Reader) Compression() output.Format {
	// The names stand in the order of the constants of output.Format.
	names := []string{"auto", "none", "gz", "zstd"}
	return output.Format(max(0, slices.Index(names, r.Choice("compress-output", names...))))
}

// Reader is argv.Reader with methods for flags that commands share.
type Reader struct{ argv.Reader }

// NewReader returns a reader of the flags of line. Its Err is nil.
func NewReader(line argv.Line) *Reader { return &Reader{Reader: argv.Reader{Line: line}} }

// Policy reads --sched of a single run, and returns a new policy of that name with the options of s.
// It returns nil if any flag so far has a mistake.
func (r *Reader) Policy(s *Scheduling) slots.Policy {
	name, ok := r.Line.Value("sched")
	if !ok {
		name = mrlocal.DefaultPolicy
	}
	// This check comes before NewPolicy, because its error suggests the nearest name.
	r.checkPolicy(name, registry.Names())
	if r.Err != nil {
		return nil
	}
	p, err := s.NewPolicy(name)
	r.Keep(err)
	return p
}

// Bounds of --width, in columns.
const leastWidth, mostWidth = 30, 10_000

// GanttFlags returns --gantt, --step and --width. where is a phrase of the help of --gantt: the
// stream on which the gantt appears. Reader.Picture reads the flags.
func GanttFlags(where string) []argv.Spec {
	gantt := argv.ToggleSpec("gantt", "", "draw which job used which slot when"+where+". A row is a slot, a letter is a job, lower case means lent, and a dot means idle. Below it are the numbers of running maps and reduces of each pool at each step of time. With --gantt=pools a letter is a pool, as when there are more jobs than letters. With --gantt=phases it is a phase of a task, with --gantt=jobs always a job")
	gantt.Maybe = true // --gantt may have a value, and needs none
	return []argv.Spec{gantt,
		argv.ValueSpec("step", "`TIME` of a step in the counts of --gantt", "10s for simulated runs of 20s to 1000s, otherwise chosen by the length of the run"),
		argv.ValueSpec("width", "draw --gantt in lines of `N` columns", "the width of the terminal, else 100"),
	}
}

// Picture reads GanttFlags. drawn reports that the command draws gantts even without --gantt, so
// --width has an effect in any case.
func (r *Reader) Picture(drawn bool) *show.Picture {
	// If the width or the step is 0, the picture chooses it when it is drawn.
	p := &show.Picture{On: r.Line.Has("gantt"), Step: r.Time("step", false), Width: r.Count("width", leastWidth, mostWidth)}
	if group, _ := r.Line.Value("gantt"); group != "" {
		groups := []string{"", "pools", "jobs", "phases"} // in the order of trace.Grouping
		p.By = trace.Grouping(max(0, slices.Index(groups, r.Choice("gantt", groups[1:]...))))
	}
	// A flag without effect is a mistake: the user most likely forgot --gantt.
	if p.Step > 0 && !p.On {
		r.Keep(errs.Optionf("--step", "needs --gantt"))
	}
	if p.Width > 0 && !p.On && !drawn {
		r.Keep(errs.Optionf("--width", "needs --gantt"))
	}
	return p
}
