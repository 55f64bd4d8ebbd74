package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/trace"
)

// These are the least shares that a headline tells.
const (
	leastCause = 0.5  // of the difference of two runs, or of a job's, for a cause of it
	leastShare = 0.1  // of the slot time of a run, for what is told of that run alone
	leastEnds  = 0.01 // of the time of a run, for a difference
)

// why says what made the run w end later than the run b: the item that differs most. It is "" if that item explains
// less than half of the difference. The difference is that of the ends, times the open slots of w. It is the sum of
// what all items differ by.
func why(b, w *outcome) string {
	if !comparable(b, w) {
		return ""
	}
	w.books, b.books = accountOf(w.model, b.model), accountOf(b.model, w.model)
	late := float64(w.end - b.end)
	if late <= leastEnds*float64(b.end) {
		return cmp.Or(offset(w, b), offset(b, w))
	}
	best, most := itemNothing, leastCause*w.open()*late
	for i, more := range differences(w, b) {
		if more >= most {
			best, most = item(i), more
		}
	}
	if best == itemNothing {
		return ""
	}
	return tell(best, w, b)
}

// open returns how many slots are open on average.
func (o *outcome) open() float64 { return o.account().open / float64(max(1, o.end)) }

// differences returns how much more slot time each item takes in a run w than in a run b that ends earlier.
func differences(w, b *outcome) (more [itemCount]float64) {
	for i := range more {
		more[i] = w.account().time[i] - b.account().time[i]
	}
	// It is the same whether a slot is idle or a reduce waits on it.
	if waits, other := more[itemWaits], more[itemOther]; waits*other < 0 {
		more[itemWaits], more[itemOther] = max(0, waits+min(0, other)), max(0, other+min(0, waits))
	}
	lending := saved(b, w, trace.Map) + saved(b, w, trace.Reduce)
	if (more[itemOther] <= 0 || lending < leastCause*more[itemOther]) && jobOrder(w, b) != "" {
		more[itemOrder] = more[itemOther] + more[itemTail]
		more[itemOther], more[itemTail] = 0, 0
	}
	more[itemSlots] = (b.open() - w.open()) * float64(b.end)
	if len(w.model.Losses) > len(b.model.Losses) { // the slots were lost with a tracker
		more[itemLost] += max(0, more[itemSlots])
		more[itemSlots] = 0
	}
	return more
}

// lentTime returns the slot time of all loans.
func (o *outcome) lentTime() time.Duration { return o.lent[trace.Map] + o.lent[trace.Reduce] }

// saved returns the slot time that the loans of the slots of a kind save in a run b, beyond those in a run w. Without
// them their tasks would run one after the other on the slots of their own kind, while all slots are open.
func saved(b, w *outcome, k trace.Kind) float64 {
	return float64(b.lent[k]-w.lent[k]) * b.open() / float64(max(1, b.slots[k.Other()]))
}

// took returns the slot time of items in words.
func (o *outcome) took(what ...item) string {
	sum := 0.0
	for _, i := range what {
		t := o.account().time[i]
		if i == itemWaits {
			t = o.account().waits
		}
		sum += t
	}
	return Words(time.Duration(sum)) + " of slot time"
}

// than returns the slot time of items in a run that is compared with another.
func (o *outcome) than(what ...item) string {
	return ", " + strings.TrimSuffix(o.took(what...), " of slot time") + " under " + o.name
}

// jobOrder says that two runs start jobs in different orders, or run different numbers of jobs at a time; "": neither.
func jobOrder(w, b *outcome) string {
	late, soon := w.model.starts(), b.model.starts()
	for i, x := range late {
		if y := soon[i]; w.model.Jobs[x].Start < w.model.Jobs[y].Start && b.model.Jobs[y].Start < b.model.Jobs[x].Start {
			return fmt.Sprintf("Under %s job %s started before %s, under %s after it", b.name, b.model.Jobs[y].Name, b.model.Jobs[x].Name, w.name)
		}
	}
	if x, y := w.jobsAtATime(), b.jobsAtATime(); x > 1.3*y || y > 1.3*x {
		return fmt.Sprintf("%s ran %.2g jobs at a time, %s %.2g", b.name, y, w.name, x)
	}
	return ""
}

// starts returns the numbers of jobs in the order of their first starts.
func (m *Model) starts() (jobs []int) {
	for j := range m.Jobs {
		jobs = append(jobs, j)
	}
	slices.SortStableFunc(jobs, func(i, j int) int { return cmp.Compare(m.Jobs[i].Start, m.Jobs[j].Start) })
	return jobs
}

// jobsAtATime returns how many jobs have started and not ended, on average while any has.
func (o *outcome) jobsAtATime() float64 {
	var sum, any, last time.Duration
	for _, i := range o.model.starts() {
		j := &o.model.Jobs[i]
		sum += j.Finish - max(0, j.Start)
		any += max(0, j.Finish-max(0, j.Start, last))
		last = max(last, j.Finish)
	}
	return float64(sum) / float64(max(1, any))
}

// comparable reports whether two runs have the same jobs with the same numbers of tasks, and all succeeded.
func comparable(a, b *outcome) bool {
	if len(a.model.Jobs) != len(b.model.Jobs) || a.bad+b.bad > 0 {
		return false
	}
	for i := range a.model.Jobs {
		x, y := &a.model.Jobs[i], &b.model.Jobs[i]
		if x.Name != y.Name || x.Maps != y.Maps || x.Reduces != y.Reduces {
			return false
		}
	}
	return true
}

// tell says in a sentence what a run w has more of than a run b, or what a run w that is alone has of it.
func tell(what item, w, b *outcome) string {
	took := w.took(what)
	under, than := "", ""
	if b != nil {
		under, than = " under "+w.name, b.than(what)
	}
	switch what {
	case itemSlow:
		return tellSlow(w, b)
	case itemWaits:
		return fmt.Sprintf("Waiting reduces held slots for %s%s while tasks waited%s.", took, under, than)
	case itemRaces, itemKilled, itemFailed, itemLost:
		noun := map[item]string{itemRaces: "overtaken", itemKilled: "killed", itemFailed: "failed", itemLost: "lost"}[what] + " attempt"
		return fmt.Sprintf("%s cost %s%s%s.", errs.Counted(w.account().attempts[what], noun), took, under, than)
	case itemHeld:
		return fmt.Sprintf("Slots were idle for %s%s although their tasks waited%s.", took, under, than)
	case itemTail:
		return fmt.Sprintf("Slots were idle for %s%s as no task waited%s.", took, under, than)
	case itemOrder:
		return fmt.Sprintf("%s; slots were idle for %s%s%s.", jobOrder(w, b), w.took(itemOther, itemTail), under, b.than(itemOther, itemTail))
	case itemSlots:
		return fmt.Sprintf("%s has %s slots on average, %s %s.", b.name, number(b.open()), w.name, number(w.open()))
	case itemOther:
		return tellOther(w, b)
	}
	return tellLonger(w, b)
}

// tellOther says which kind of slots was idle in a run w while tasks of the other kind waited, and what the run b did
// with such slots.
func tellOther(w, b *outcome) string {
	kind := trace.Map
	more := func(k trace.Kind) float64 {
		return w.account().other[k] - b.account().other[k]
	}
	if more(trace.Reduce) > more(trace.Map) {
		kind = trace.Reduce
	}
	text := w.idled(kind) + " under " + w.name
	if n := b.loans[kind]; n > 0 && saved(b, w, kind) >= leastCause*more(kind) {
		them := "them"
		if b.slots[kind] == 1 {
			them = "it"
		}
		return fmt.Sprintf("%s; %s lent %s %s.", text, b.name, them, times(n))
	}
	return fmt.Sprintf("%s, %.0f %% of the time under %s.", text, 100*b.idle(kind), b.name)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// tellSlow says which task of a run w was slow, how long it took in the run b, and how many copies won there, of it or
// of other tasks. b is nil for a run that is alone.
func tellSlow(w, b *outcome) string {
	a := w.account()
	if a.slowest < 0 {
		return fmt.Sprintf("Slow tasks held up slots for %s under %s%s.", w.took(itemSlow), w.name, b.than(itemSlow))
	}
	bar := &w.model.Bars[a.slowest]
	text := fmt.Sprintf("%s %d of %s took %s", capital(bar.Kind), bar.Task, w.model.Jobs[bar.Job].Name, Words(w.model.worked(bar)))
	if b == nil {
		return fmt.Sprintf("%s, %s times the median.", text, number(w.model.factor(bar, a.usual)))
	}
	text += fmt.Sprintf(" under %s, %s under %s", w.name, Words(a.there), b.name)
	if x, y := a.copies, b.account().copies; y > x {
		won := ", where " + copies(y)
		if !b.model.rescued(bar) {
			if won = fmt.Sprintf("; %d others' copies", y); y == 1 {
				won = "; another's copy"
			}
		}
		if text += won + " won"; x > 0 {
			text += fmt.Sprintf(", not %d", x)
		}
	}
	return text + "."
}

// tasks returns the word for the job's tasks of a kind: map if there is one, else maps.
func (j *DrawnJob) tasks(k trace.Kind) string {
	_, word, _ := strings.Cut(errs.Counted([...]int32{j.Maps, j.Reduces}[k], k.String()), " ")
	return word
}

// rescued reports whether a copy has finished the task of a bar of another run.
func (m *Model) rescued(b *Bar) bool {
	return slices.ContainsFunc(m.Bars, func(c Bar) bool { return c.Done && c.Speculative && taskOf(&c) == taskOf(b) })
}

// capital returns the kind as the first word of a sentence.
func capital(k trace.Kind) string { return [...]string{"Map", "Reduce"}[k] }

func copies(n int) string {
	if n == 1 {
		return "1 copy"
	}
	return fmt.Sprintf("%d copies", n)
}

// tellLonger says which tasks took longer in a run w than in a run b, and what differs beside it: spills, or how many
// ran at a time.
func tellLonger(w, b *outcome) string {
	x, y := w.account(), b.account()
	job, kind := 0, trace.Map
	most := 0.0
	for j := range x.longer {
		for k := range trace.Kind(trace.Kinds) {
			if more := x.longer[j][k] - y.longer[j][k]; more > most {
				most = more
				job, kind = j, k
			}
		}
	}
	text := capital(kind) + "s"
	if w.model.Jobs[job].tasks(kind) == kind.String() {
		text = "The " + kind.String()
	}
	if len(x.longer) > 1 {
		text += " of " + w.model.Jobs[job].Name
	}
	factor := w.model.tasksOf(job, kind).mean() / max(1, b.model.tasksOf(job, kind).mean())
	if factor >= 1.1 {
		factor = math.Round(10*factor) / 10
	}
	text += fmt.Sprintf(" took %s times as long under %s", number(factor), w.name)
	if n, m := w.model.spillsOf(job), b.model.spillsOf(job); kind == trace.Map && 2*n > 3*m {
		return fmt.Sprintf("%s: %s%s, not %d%s.", text, errs.Counted(n, "spill"), w.model.buffersOf("kvbuffer ", job), m, b.model.buffersOf("", job))
	}
	if x.running[kind] > 1.1*y.running[kind] {
		return fmt.Sprintf("%s: %.2g ran at a time, %.2g under %s.", text, x.running[kind], y.running[kind], b.name)
	}
	return text + "."
}

// jobTasks has sums over attempts of a job of one kind.
type jobTasks struct {
	done         float64       // tasks
	worked, used time.Duration // of tasks that are done, without waits for maps; of all attempts
	from, to     time.Duration // first start and last end
}

// mean returns the mean time of the tasks that are done.
func (t *jobTasks) mean() float64 { return float64(t.worked) / max(1, t.done) }

// slots returns how many slots the attempts have on average.
func (t *jobTasks) slots() float64 { return float64(t.used) / float64(max(1, t.to-t.from)) }

func (m *Model) tasksOf(job int, k trace.Kind) *jobTasks {
	t := &jobTasks{from: m.Last}
	for i := range m.Bars {
		b := &m.Bars[i]
		if int(b.Job) != job || b.Kind != k {
			continue
		}
		if b.Done {
			t.done++
			t.worked += m.worked(b)
		}
		t.used += m.Until(b) - b.From
		t.from, t.to = min(t.from, b.From), max(t.to, m.Until(b))
	}
	return t
}

// spillsOf returns how many spills the maps of a job have written.
func (m *Model) spillsOf(job int) (n int) {
	for i := range m.Spills {
		if int(m.Bars[m.Spills[i].Bar].Job) == job {
			n++
		}
	}
	return n
}

// buffersOf returns what and the size of the largest kvbuffer of a job in brackets. The size is rounded to MiB or, if
// it is less, to KiB. "": it is not known.
func (m *Model) buffersOf(what string, job int) string {
	most := int64(0)
	for i := range m.Buffers {
		if b := &m.Buffers[i]; int(m.Bars[b.Bar].Job) == job {
			switch b.Step {
			case BufferBegin:
				most = max(most, b.Bytes)
			case BufferGrow:
				most = max(most, b.ToBytes)
			}
		}
	}
	unit, name := int64(1<<20), "MiB"
	if most < unit {
		unit, name = 1<<10, "KiB"
	}
	if most == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s%d %s)", what, (most+unit/2)/unit, name)
}

// alone says in a sentence what a run did with most of its slot time besides work, or that it missed deadlines; "":
// nothing took a tenth of the slot time.
func alone(o *outcome) string {
	if text := o.missed(); text != "" {
		return text
	}
	a := o.account()
	best, most := itemCount, leastShare*a.open
	text := ""
	for what := itemSlow; what <= itemLost; what++ {
		if a.time[what] > most {
			best, most = what, a.time[what]
		}
	}
	switch {
	case best == itemRaces && a.copies > 0:
		text = fmt.Sprintf("%s won; %s", copies(a.copies), tell(best, o, nil))
	case best != itemCount:
		text = tell(best, o, nil)
	}
	if t := a.time[itemOther] + a.time[itemHeld] + a.time[itemTail]; t > most {
		if idle := o.idleKind(); idle != "" {
			most, text = t, idle
		}
	}
	if float64(o.lentTime()) > most {
		text = o.lending() + "."
	}
	return text
}

// offset says that a run lent more slots than another and gained nothing, because its tasks took longer; "": it is not
// so. It is said of runs that end at about the same time.
func offset(a, b *outcome) string {
	x, y := a.account(), b.account()
	longer := x.time[itemLonger] - y.time[itemLonger]
	if lent := float64(a.lentTime() - b.lentTime()); lent <= leastShare*x.open || longer < leastCause*lent {
		return ""
	}
	text := strings.TrimSuffix(tellLonger(a, b), ".")
	return fmt.Sprintf("%s, but %s.", a.lending(), strings.Replace(strings.ToLower(text[:1])+text[1:], " under "+a.name, "", 1))
}

// idled says for how long the slots of a kind were idle.
func (o *outcome) idled(k trace.Kind) string {
	if o.slots[k] == 1 {
		return fmt.Sprintf("The %v slot was idle for %s of %s", k, Words(o.room[k]-o.busy[k]), Words(o.room[k]))
	}
	return fmt.Sprintf("%s slots were %.0f %% idle", capital(k), 100*o.idle(k))
}

// idle returns the share of time in which the open slots of a kind were idle.
func (o *outcome) idle(k trace.Kind) float64 {
	if o.room[k] <= 0 {
		return 0
	}
	return 1 - float64(o.busy[k])/float64(o.room[k])
}

// idleKind says which kind of slots was idle most, and for how long. It returns "" below a tenth of the time.
func (o *outcome) idleKind() string {
	kind, most := trace.Map, 0.0
	for k := range trace.Kind(trace.Kinds) {
		if part := o.idle(k); part >= most {
			kind, most = k, part
		}
	}
	if most < leastShare {
		return ""
	}
	return o.idled(kind) + "."
}

// lending says what the run lent.
func (o *outcome) lending() string {
	var parts []string
	for k := range trace.Kind(trace.Kinds) {
		if o.loans[k] == 0 {
			continue
		}
		what := fmt.Sprintf("%v slots", k)
		if o.slots[k] == 1 {
			what = fmt.Sprintf("the %v slot", k)
		}
		parts = append(parts, what+" "+times(o.loans[k]))
	}
	return fmt.Sprintf("%s lent %s", o.name, strings.Join(parts, " and "))
}
