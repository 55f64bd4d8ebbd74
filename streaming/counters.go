package streaming

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"mrlocal/report"
)

// Counter is one counter of a job.
type Counter struct {
	Group, Name string
	Value       int64
}

// Counters returns the counters of a job that has ended: those of the engine under
// Hadoop's names, and those of the commands. Groups come by their names.
func (w *Work) Counters(c report.Counters, o OutputBytes) []Counter {
	w.lock.Lock()
	defer w.lock.Unlock()
	const framework = "Map-Reduce Framework"
	for _, t := range w.counted {
		c.ReduceOutputRecords += t.dropped
	}
	mapOutput := c.MapOutputRecords
	if w.MapOnly {
		mapOutput = c.ReduceOutputRecords
	}
	var all []Counter
	if len(w.splits) > 0 {
		all = append(all, Counter{framework, "Map input records", c.MapInputRecords}, Counter{framework, "Map output records", mapOutput})
	}
	if !w.MapOnly {
		groups := c.ReduceInputGroups
		if w.paired() {
			groups = 0
			for _, t := range w.counted {
				groups += t.groups
			}
		}
		all = append(all,
			Counter{framework, "Combine input records", c.CombineInputRecords}, Counter{framework, "Combine output records", c.CombineOutputRecords},
			Counter{framework, "Reduce input groups", groups}, Counter{framework, "Reduce input records", c.ReduceInputRecords},
			Counter{framework, "Reduce output records", c.ReduceOutputRecords},
			Counter{framework, "Shuffled Maps ", int64(len(w.splits) * w.Reducers)})
	}
	all = append(all, Counter{"File Output Format Counters ", "Bytes Written", int64(o)})
	users := map[[2]string]int64{}
	for _, t := range w.counted {
		for k, n := range t.counters {
			users[k] += n
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(users), func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
		all = append(all, Counter{k[0], k[1], users[k]})
	}
	slices.SortStableFunc(all, func(a, b Counter) int { return cmp.Compare(a.Group, b.Group) })
	return all
}

// OutputBytes is the size of a result.
type OutputBytes int64

// WriteCounters writes counters as Hadoop prints them: a TAB and the group, then two
// TABs and NAME=VALUE for each counter.
func WriteCounters(out io.Writer, all []Counter) error {
	text := fmt.Appendf(nil, "Counters: %d\n", len(all))
	for i, c := range all {
		if i == 0 || all[i-1].Group != c.Group {
			text = fmt.Appendf(text, "\t%s\n", c.Group)
		}
		text = fmt.Appendf(text, "\t\t%s=%d\n", c.Name, c.Value)
	}
	_, err := out.Write(text)
	return err
}
