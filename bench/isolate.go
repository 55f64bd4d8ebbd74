package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/workload"
)

// Isolate computes each figure again with each of its changes (Figure.Isolate), one change at a time.
// It sets Line.Isolated, and appends it to the reason of an open line. It uses the seeds of Run, and
// fails as Run does.
//
// The cause of an open line is isolated if one change makes the comparison true. For a figure with
// a band, the change brings it into the band or to the other side.
func (r *Result) Isolate(ctx context.Context) error {
	made := newRuns() // it keeps all results, because figures share changes
	for i := range r.Figures {
		f, l := &r.Figures[i], &r.Lines[i]
		var said []string
		isolated := false
		for k := range f.Isolate {
			got, err := r.changed(ctx, f, &f.Isolate[k], made)
			if err != nil {
				return err
			}
			text, in := isolation(f, &f.Isolate[k], &got)
			// The change counts as the cause if ours is now in the band, or has crossed it.
			isolated = isolated || in || l.Low != "" && less(l.Ours, l.Low) != less(got.Ours, l.Low)
			said = append(said, text)
		}
		if len(said) == 0 {
			continue
		}
		heading := "Each alone: "
		if isolated {
			heading = "Isolated: "
		}
		l.Isolated = heading + strings.Join(said, "; ") + " (" + errs.Counted(r.seeds, "seed") + ")."
		if l.Open() {
			l.Reason = strings.TrimSpace(l.Reason + " " + l.Isolated)
		}
	}
	return nil
}

// isolation describes the result with a change. in reports whether it is in the band, or the
// comparison is true.
func isolation(f *workload.Figure, change *workload.Trial, got *Line) (text string, in bool) {
	text = "with " + words(change) + " it is " + got.Shown
	if got.Verdict == Words {
		return text, got.Ours == "true"
	}
	if got.CILow != "" {
		text += " (" + got.interval() + ")"
	}
	switch {
	case got.Verdict == Outside:
		return text, false
	case bandless(f):
		text += ", at most 25 % off"
	default:
		text += ", inside"
	}
	return text, true
}

// less reports whether a is less than b. Both are numbers.
func less(a, b Cell) bool {
	x, _ := strconv.ParseFloat(string(a), 64)
	y, _ := strconv.ParseFloat(string(b), 64)
	return x < y
}

// changed judges a figure by runs with a change. made has the results so far, and changed adds to them. Only runs
// that the expression needs are made.
func (r *Result) changed(ctx context.Context, f *workload.Figure, change *workload.Trial, made *runs) (Line, error) {
	var trials []trial
	if change.Name != "" && !slices.ContainsFunc(r.Runs, func(t workload.Trial) bool { return t.Name == change.Name }) {
		return Line{}, r.file.Errorf(change.Pos, f.What, "no run is called %s", change.Name)
	}
	for t := range r.Runs {
		c := change
		// A change with a name is only for the run of that name. The other runs stay unchanged.
		if c.Name != "" && c.Name != r.Runs[t].Name {
			c = &workload.Trial{}
		}
		some, err := expand(r.file, r.With, &r.Runs[t], c, map[string]*workload.File{})
		if err != nil {
			return Line{}, err
		}
		trials = append(trials, some...)
	}
	var taken []map[string]value
	var all []relation
	for n := range r.seeds {
		s := r.seed(ctx, n, trials, made)
		ours, err := evaluate(f.Ours, s.look)
		if err != nil {
			return Line{}, r.file.Errorf(change.Pos, f.What, "%v", err)
		}
		all, taken = append(all, ours), append(taken, s.taken)
	}
	mean, err := evaluate(f.Ours, func(metric string, words []string) (value, error) { return meanOf(taken, key(metric, words)), nil })
	if err != nil {
		return Line{}, r.file.Errorf(change.Pos, f.What, "%v", err)
	}
	// A figure whose band is withdrawn is judged by the widest band here. That shows how far off it is.
	plain := *f
	plain.Withdrawn = ""
	return judge(&plain, all, &mean)
}

// change makes the changes of a Trial, each with one value, in the file of the run. t.file becomes a changed copy.
// made has the copies by their changes, because to read a file again takes longer than most runs.
func (t *trial) change(by *workload.Trial, made map[string]*workload.File) (err error) {
	t.without, t.changed = by.Without, words(by)
	var sets []workload.Change
	for _, a := range by.Set {
		sets = append(sets, workload.Change{Path: a.Name, Value: a.Values[0]})
	}
	key := fmt.Sprint(t.file.Name, sets)
	switch {
	case len(sets) == 0:
	case made[key] != nil:
		t.file = made[key]
	case t.other != "":
		var text []byte
		if text, err = WorkloadText(t.other); err == nil {
			t.file, err = workload.ParseChanged(t.file.Name, text, sets)
		}
	default:
		t.file, err = t.file.Changed(sets)
	}
	made[key] = t.file
	if err != nil || len(by.Scale) == 0 {
		return err
	}
	// The trials of an experiment share the file, so scaling works on a copy.
	f := *t.file
	f.Jobs, t.file = slices.Clone(f.Jobs), &f
	for _, a := range by.Scale {
		factor, err := strconv.ParseFloat(a.Values[0], 64)
		if err != nil || factor < 0 {
			return fmt.Errorf("scale: %s: %s is not a factor", a.Name, a.Values[0])
		}
		for i := range f.Jobs {
			j := &f.Jobs[i]
			switch a.Name {
			case "map_time":
				j.MapTime = j.MapTime.Scaled(factor)
			case "reduce_time":
				j.ReduceTime = j.ReduceTime.Scaled(factor)
			case "map_output":
				j.MapOutputBytes, j.MapEmitsBytes = int64(float64(j.MapOutputBytes)*factor), int64(float64(j.MapEmitsBytes)*factor)
			case "profile": // the tasks use what they did
				j.Load = cmp.Or(j.Load, j.Profile)
				j.Profile = scaledProfile(j.Profile, factor)
			default:
				return fmt.Errorf("scale: no %s; there are map_time, reduce_time, map_output, profile", a.Name)
			}
		}
	}
	return nil
}

// scaledProfile returns a copy of p with all shares multiplied by by; nil, if p is nil.
func scaledProfile(p *slots.Profile, by float64) *slots.Profile {
	if p == nil {
		return nil
	}
	times := func(v slots.Vector) slots.Vector {
		share := func(x slots.PPM) slots.PPM { return slots.PPM(float64(x)*by + 0.5) }
		return slots.Vector{CPU: share(v.CPU), IO: share(v.IO), Memory: share(v.Memory)}
	}
	return &slots.Profile{Map: times(p.Map), Shuffle: times(p.Shuffle), Reduce: times(p.Reduce)}
}

// words describes the changes of a Trial.
func words(t *workload.Trial) string {
	var all []string
	if len(t.Without) > 0 {
		all = append(all, "no "+strings.Join(t.Without, ", "))
	}
	for _, c := range t.Set {
		all = append(all, c.Name+"="+c.Values[0])
	}
	for _, a := range t.Scale {
		all = append(all, a.Name+" times "+a.Values[0])
	}
	for _, a := range t.Args {
		all = append(all, "--"+a.Name+" "+a.Values[0])
	}
	said := strings.Join(all, " and ")
	if t.Name != "" {
		said += " for run " + t.Name + " alone"
	}
	return said
}
