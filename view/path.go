package view

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/trace"
)

// Cause says why an attempt of a critical path did not start earlier.
type Cause uint8

const (
	CauseArrival Cause = iota // its job had not arrived, or waited for admission
	CauseSlot                 // its slot was taken
	CauseMaps                 // its job's maps were not done
	CauseAttempt              // an attempt of its task before was not over
)

var causeNames = [...]string{"arrival", "slot", "maps", "attempt"}

// String returns the cause as a word.
func (c Cause) String() string { return causeNames[c] }

// Link is an attempt of a critical path. Ready is the time at which its cause ended. A reduce that waited for maps
// goes on at Ready. Every other attempt starts at Ready or later.
type Link struct {
	Bar   int32
	Cause Cause
	Ready time.Duration
}

// CriticalPath returns the chain of attempts that led to the end of the run, in the order of time. The last link is
// the attempt that ended last. Each link waited for the one before it, and the first for the arrival of its job. The
// chain is empty if no task is done.
func (m *Model) CriticalPath() (path []Link) {
	at := None
	for i := range m.Ends {
		if b := &m.Bars[m.Ends[i].Bar]; b.Done && (at < 0 || b.To >= m.Bars[at].To) {
			at = m.Ends[i].Bar
		}
	}
	if at < 0 {
		return nil
	}
	before := m.linksBefore()
	for at >= 0 && len(path) < len(m.Bars) {
		link, next := m.cause(at, before)
		path = append(path, link)
		at = next
	}
	slices.Reverse(path)
	return path
}

// earlier has, for each bar, the bar before it on its slot and the attempt before it of its task; None: there is none.
// maps has the bars of maps that are done, by job, in the order of their ends.
type earlier struct {
	slot, task []int32
	maps       [][]int32
}

func (m *Model) linksBefore() earlier {
	e := earlier{make([]int32, len(m.Bars)), make([]int32, len(m.Bars)), make([][]int32, len(m.Jobs))}
	slots, tasks := slices.Repeat([]int32{None}, len(m.Lanes)), map[taskKey]int32{}
	for i := range m.Bars {
		b := &m.Bars[i]
		key := taskOf(b)
		e.slot[i], e.task[i] = slots[b.Slot], None
		if last, ok := tasks[key]; ok {
			e.task[i] = last
		}
		slots[b.Slot], tasks[key] = int32(i), int32(i)
	}
	for i := range m.Ends {
		if b := &m.Bars[m.Ends[i].Bar]; b.Done && b.Kind == trace.Map {
			e.maps[b.Job] = append(e.maps[b.Job], m.Ends[i].Bar)
		}
	}
	return e
}

// cause returns the link of a bar, and the bar that it waited for; None: it waited for the arrival of its job.
func (m *Model) cause(bar int32, before earlier) (Link, int32) {
	b := &m.Bars[bar]
	j := &m.Jobs[b.Job]
	if b.Kind == trace.Reduce {
		// A reduce that runs while maps do waits for the last of them.
		if last := m.lastBefore(before.maps[b.Job], m.Until(b)); last >= 0 && m.Bars[last].To > b.From {
			return Link{bar, CauseMaps, m.Bars[last].To}, last
		}
	}
	found, next := Link{bar, CauseArrival, max(j.Submit, j.Admit)}, None
	consider := func(other int32, c Cause) {
		if other >= 0 && m.Bars[other].To >= 0 && m.Bars[other].To <= b.From && m.Bars[other].To > found.Ready {
			found, next = Link{bar, c, m.Bars[other].To}, other
		}
	}
	consider(before.task[bar], CauseAttempt)
	if b.Kind == trace.Reduce {
		consider(m.lastBefore(before.maps[b.Job], b.From), CauseMaps)
	}
	consider(before.slot[bar], CauseSlot)
	return found, next
}

// lastBefore returns the last of maps, which are in the order of their ends, that ended at a time or earlier.
func (m *Model) lastBefore(maps []int32, at time.Duration) int32 {
	n := sort.Search(len(maps), func(i int) bool { return m.Bars[maps[i]].To > at })
	if n == 0 {
		return None
	}
	return maps[n-1]
}

// TellPath says in a sentence or two what a critical path consists of. It joins what follows on one slot.
func (m *Model) TellPath(path []Link) string {
	if len(path) == 0 {
		return ""
	}
	last := &m.Bars[path[len(path)-1].Bar]
	said := []string{fmt.Sprintf("%s on slot %d ended last, at %s.", m.TaskName(last), last.Slot, Words(m.Until(last)))}
	for i := len(path) - 1; i >= 0; {
		link := path[i]
		b := &m.Bars[link.Bar]
		run := i // path[run:i+1] is a chain on one slot
		for run > 0 && path[run].Cause == CauseSlot {
			run--
		}
		switch {
		case run < i:
			first := &m.Bars[path[run].Bar]
			said = append(said, fmt.Sprintf("Slot %d ran %s before it, from %s on.", b.Slot, errs.Counted(i-run, "attempt"), Words(first.From)))
			i = run
			continue
		case link.Cause == CauseMaps && i > 0:
			before := &m.Bars[path[i-1].Bar]
			said = append(said, fmt.Sprintf("%s had to wait for the last map, %s on slot %d, until %s.", m.TaskName(b), m.TaskName(before), before.Slot, Words(link.Ready)))
		case link.Cause == CauseAttempt:
			said = append(said, fmt.Sprintf("An attempt of %s before had ended at %s.", m.TaskName(b), Words(link.Ready)))
		case link.Ready > 0:
			said = append(said, fmt.Sprintf("Its job %s had arrived at %s.", m.Jobs[b.Job].Name, Words(link.Ready)))
		}
		if wait := b.From - link.Ready; wait > m.Last/100 {
			said = append(said, fmt.Sprintf("%s waited %s for a slot.", m.TaskName(b), Words(wait)))
		}
		i--
	}
	return strings.Join(said, " ")
}
