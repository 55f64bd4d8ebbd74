package explain

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"mrlocal/errs"
	"mrlocal/slots"
	"mrlocal/slots/policy/omo"
	"mrlocal/trace"
)

// Reason is why an attempt was started or killed, for programs that show it.
type Reason struct {
	Seq     uint64       `json:"seq"` // of the decision
	At      int64        `json:"at"`  // in nanoseconds from the start of the run
	Op      string       `json:"op"`  // start or kill
	Job     int32        `json:"job"`
	Slot    int32        `json:"slot"`
	Rule    string       `json:"rule"`
	Text    string       `json:"text"` // the sentences, in one line
	Numbers []NamedValue `json:"numbers"`
	Beaten  []BeatenBy   `json:"beaten"`
}

// NamedValue is a number that the decision depended on, in the paper's terms.
type NamedValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// BeatenBy is a candidate that was not chosen. Job is "" for a whole pool.
type BeatenBy struct {
	Pool string `json:"pool"`
	Job  string `json:"job"`
	Why  string `json:"why"`
}

// errNoDecision says that an event is no start and no kill.
var errNoDecision = errors.New("no attempt was started or killed by this event")

// Why returns the reason of the start or kill with number seq. r is an event file from its
// first line. It need not be complete: the run may go on. Only o.Name and o.Policy are used.
// Why fails if r was changed or is no event file, or if the Ledger decides otherwise than the
// file. It also fails if event seq is missing, or starts and kills nothing.
func Why(r io.Reader, seq uint64, o Options) (*Reason, error) {
	var found *Reason
	err := reasons(r, o, seq, func(x *Reason) bool {
		found = x
		return false
	})
	if err == nil && found == nil {
		err = errs.Inputf(o.Name, "event %d: %w", seq, errNoDecision)
	}
	return found, err
}

// Reasons calls yield with the reasons of all starts and kills, in order, until yield
// returns false. r and o are as for Why. Reasons fails if r was changed or is no event file,
// or if the Ledger decides otherwise than the file. The reasons before that place are
// yielded.
func Reasons(r io.Reader, o Options, yield func(x *Reason) bool) error {
	return reasons(r, o, 0, yield)
}

// WhyIdle returns sentences, in one line, that say why nothing ran on a slot at a time. r
// and o are as for Why. WhyIdle fails if r was changed or is no event file, or if the Ledger
// decides otherwise than the file. It also fails if the run has no such slot.
func WhyIdle(r io.Reader, slot int, at time.Duration, o Options) (string, error) {
	var b bytes.Buffer
	err := Sentences(&b, r, Options{Name: o.Name, Policy: o.Policy, WhyIdle: slot, At: at, HasAt: true, Open: true})
	return oneLine(b.String()), err
}

func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, sticky, " ")), " ")
}

func reasons(r io.Reader, o Options, seq uint64, yield func(x *Reason) bool) error {
	t := newExplainer(io.Discard, Options{Name: o.Name, Policy: o.Policy, Open: true})
	t.mode = &reasoner{t: t, seq: seq, yield: yield}
	return t.run(r)
}

// reasoner is the mode that gives reasons as values.
type reasoner struct {
	t     *explainer
	seq   uint64 // the only decision that is asked for; 0: all
	yield func(x *Reason) bool
	last  paragraph // of the decision whose event comes next
}

// mostDecisions is how many events follow an Assign for each of its orders, at most: a start
// with its loan, a kill. Slots may open or close besides.
const mostDecisions = 4

// wants decisions on attempts. A grant is worded before its number is known, so those that
// may have the number are wanted.
func (m *reasoner) wants(a about) bool {
	t := m.t
	return a.topic.decision() && (m.seq == 0 || t.seq <= m.seq && m.seq-t.seq <= mostDecisions*(1+t.orders+uint64(len(t.c.Slots))))
}

func (m *reasoner) add(p paragraph) { m.last = p }

// event makes the reason of a decision, whose paragraph add has got.
func (m *reasoner) event(e *trace.Event, texts []string) {
	p := m.last
	m.last = paragraph{}
	if e.Op != trace.OpStart && e.Op != trace.OpKill || p.text == "" || m.seq != 0 && e.Seq != m.seq {
		// Later events cannot be the one that is asked for.
		m.t.stop = m.t.stop || m.seq != 0 && e.Seq > m.seq
		return
	}
	x := &Reason{
		Seq: e.Seq, At: int64(e.At), Op: e.Op.String(), Job: e.Job, Slot: e.Slot, Rule: string(trace.RuleOf(texts)), Text: oneLine(p.text),
		Numbers: []NamedValue{}, Beaten: []BeatenBy{}, // not nil: JSON then has [] and not null
	}
	for _, n := range p.why.Numbers {
		x.Numbers = append(x.Numbers, NamedValue{n.Name, n.Value()})
	}
	for _, b := range p.why.Beaten {
		by := BeatenBy{Why: b.Why}
		if b.Job != slots.NoJob {
			by.Job = m.t.jobName(b.Job)
		}
		if int(b.Pool) >= 0 && int(b.Pool) < m.t.v.Pools() {
			by.Pool = printable(m.t.v.Pool(b.Pool).Config().Name)
		}
		x.Beaten = append(x.Beaten, by)
	}
	m.t.stop = !m.yield(x)
}

func (m *reasoner) end() error { return nil }

// copyOf returns a Why that stays valid after the call of the Ledger.
func copyOf(w slots.Why) slots.Why {
	return slots.Why{Numbers: append([]slots.Number(nil), w.Numbers...), Beaten: append([]slots.Beaten(nil), w.Beaten...)}
}

const (
	mostWindows  = 10_000 // of a plot, so that its memory is bounded
	releasesWide = 50     // columns of the longest bar
)

// Releases reads an event file and writes a plot of [OMO21, Fig. 7]: for each window how
// many containers were released in it, as a bar, and with + how many OMO's monitor expected
// when the window began. It fails as Sentences does, and if there would be more than 10,000
// windows; then nothing is written. window is above 0.
func Releases(w io.Writer, r io.Reader, name string, window time.Duration) error {
	d, err := trace.NewDecoder(r)
	if err != nil {
		return errs.Inputf(name, "%v", err)
	}
	watch := omo.NewReleases(window)
	for {
		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errs.Inputf(name, "%v", err)
		}
		if e.At/window >= mostWindows {
			return errs.Optionf("release windows", "%v: the run has more than %d windows of that length", window, mostWindows)
		}
		if err := watch.Record(nil, &e); err != nil {
			return err
		}
	}
	_, err = w.Write(releasePlot(watch.Windows()))
	return err
}

// releasePlot draws windows, one a line.
func releasePlot(windows []omo.Window) []byte {
	most := 1.0
	for _, w := range windows {
		most = max(most, float64(w.Released), w.Expected)
	}
	columns := func(n float64) int { return int(n/most*releasesWide + 0.5) }
	var b bytes.Buffer
	fmt.Fprintf(&b, "%12s %8s %8s\n", "from", "released", "expected")
	for _, w := range windows {
		bar := []byte(strings.Repeat("#", columns(float64(w.Released))) + strings.Repeat(" ", releasesWide+1))
		bar[columns(w.Expected)] = '+'
		fmt.Fprintf(&b, "%12v %8d %8.1f %s\n", w.From, w.Released, w.Expected, bytes.TrimRight(bar, " "))
	}
	return b.Bytes()
}
