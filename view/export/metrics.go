package export

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/trace"
	"mrlocal/view"
)

// mostJobs is the most jobs that have metrics of their own. Each job makes several series, and too
// many series overload a server of metrics.
const mostJobs = 1000

// metricsWriter writes metrics, one family after the other. Its bufio.Writer keeps the first error until
// Flush.
type metricsWriter struct{ *bufio.Writer }

// family begins a metric of the given kind, gauge or counter. All its samples must come next: the
// format demands it.
func (w metricsWriter) family(name, kind, help string) {
	fmt.Fprintf(w, "# HELP mrlocal_%s %s\n# TYPE mrlocal_%s %s\n", name, help, name, kind)
}

// sample writes a value of the metric name. labels are pairs of a label's name and its value.
func (w metricsWriter) sample(name string, v float64, labels ...string) {
	w.WriteString("mrlocal_" + name)
	for i := 0; i+1 < len(labels); i += 2 {
		sign := ","
		if i == 0 {
			sign = "{"
		}
		w.WriteString(sign + labels[i] + `="` + metricsEscapes.Replace(strings.ToValidUTF8(labels[i+1], "\uFFFD")) + `"`)
	}
	if len(labels) > 0 {
		w.WriteByte('}')
	}
	w.WriteString(" " + strconv.FormatFloat(v, 'g', -1, 64) + "\n")
}

// one writes a metric that has only one value and no labels.
func (w metricsWriter) one(name, kind, help string, v float64) {
	w.family(name, kind, help)
	w.sample(name, v)
}

// metricsEscapes has the escapes that the format demands in the value of a label.
var metricsEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// kinds writes a metric that has a value for each kind of task.
func (w metricsWriter) kinds(name, kind, help string, values [trace.Kinds]float64) {
	w.family(name, kind, help)
	for k, v := range values {
		w.sample(name, v, "kind", trace.Kind(k).String())
	}
}

// poolKind has the numbers of a pool's attempts, by kind of task.
type poolKind [trace.Kinds]struct {
	running float64
	ended   [trace.EndLost + 1]float64 // by trace.How
}

// Metrics writes a model to out in the text format of Prometheus. The text is for files of its
// node exporter and for /metrics of a server. It fails if out does.
//
// Names follow the rules that promtool checks: a prefix, base units, _total for counters. Labels are
// the pool, the kind of a task, the rule and the phase, and for the first 1000 jobs also the job.
// There is no label for a task, because every task would make a series.
func Metrics(out io.Writer, m *view.Model) error {
	w := metricsWriter{bufio.NewWriterSize(out, 64<<10)}
	w.family("run_info", "gauge", "The policy of the run; the value is 1.")
	w.sample("run_info", 1, "policy", m.Policy)
	w.one("run_seconds", "gauge", "Time of the run so far.", m.Last.Seconds())
	w.one("run_ended", "gauge", "Whether the run has ended.", float64(view.Bit(m.Ended)))
	w.slots(m)
	w.attempts(m)
	w.jobs(m)
	w.data(m)
	return errs.About("write metrics", w.Flush())
}

// slots writes the metrics of slots and phases. The time of an attempt that still runs counts up to
// the last event.
func (w metricsWriter) slots(m *view.Model) {
	t := m.Totals()
	homes := m.HomeSlots()
	w.kinds("slots", "gauge", "Home slots.", [trace.Kinds]float64{float64(homes[trace.Map]), float64(homes[trace.Reduce])})
	var lent [trace.Kinds]time.Duration
	var loans [trace.Kinds]float64
	for i := range m.Bars {
		if b := &m.Bars[i]; b.Lent {
			lent[b.Kind] += m.Until(b) - b.From
			loans[b.Kind]++
		}
	}
	w.one("slot_busy_seconds_total", "counter", "Time in which slots held attempts, over all slots.", t.Busy.Seconds())
	w.kinds("slot_lent_seconds_total", "counter", "Time in which slots were lent to tasks of a kind, over all slots.",
		[trace.Kinds]float64{lent[trace.Map].Seconds(), lent[trace.Reduce].Seconds()})
	w.kinds("slot_loans_total", "counter", "Attempts of a kind on slots of the other kind.", loans)
	w.family("phase_seconds_total", "counter", "Time that attempts spent in a phase.")
	for p, d := range t.Phases {
		if phase := trace.Phase(p); phase != trace.PhaseNone {
			w.sample("phase_seconds_total", d.Seconds(), "phase", phase.String())
		}
	}
}

// attempts writes the metrics of attempts by pool and kind. Combinations that did not occur have
// samples of 0: if a series appears late, Prometheus cannot see its first increase.
func (w metricsWriter) attempts(m *view.Model) {
	pools := make([]poolKind, len(m.Pools))
	rules := make([]float64, len(m.Rules))
	copies := 0.0
	for i := range m.Bars {
		b := &m.Bars[i]
		c := &pools[m.Jobs[b.Job].Pool][b.Kind]
		if b.How == trace.EndNone {
			c.running++
		} else {
			c.ended[b.How]++
		}
		if b.Speculative {
			copies++
		}
	}
	for i := range m.Decisions {
		rules[m.Decisions[i].Rule]++
	}
	w.family("running_attempts", "gauge", "Attempts that run.")
	for p := range pools {
		for k := range trace.Kind(trace.Kinds) {
			w.sample("running_attempts", pools[p][k].running, "pool", m.Pools[p].Name, "kind", k.String())
		}
	}
	w.family("attempts_total", "counter", "Attempts that have ended, by how they ended.")
	for p := range pools {
		for k := range trace.Kind(trace.Kinds) {
			for how := trace.EndOK; how <= trace.EndLost; how++ {
				w.sample("attempts_total", pools[p][k].ended[how], "pool", m.Pools[p].Name, "kind", k.String(), "state", how.String())
			}
		}
	}
	w.one("speculative_attempts_total", "counter", "Copies of running tasks.", copies)
	w.family("decisions_total", "counter", "Decisions of the Ledger by rule.")
	for i, n := range rules {
		// Rules[0] stands for no rule.
		if i > 0 {
			w.sample("decisions_total", n, "rule", m.Rules[i])
		}
	}
}

// jobs writes the progress of the first mostJobs jobs.
func (w metricsWriter) jobs(m *view.Model) {
	jobs := m.Jobs[:min(len(m.Jobs), mostJobs)]
	each := func(name, help string, value func(j *view.DrawnJob) [trace.Kinds]int32) {
		w.family(name, "gauge", help)
		for i := range jobs {
			j := &jobs[i]
			for k, n := range value(j) {
				// The number is a label because two jobs may have the same name.
				w.sample(name, float64(n), "job", strconv.Itoa(i), "name", j.Name, "pool", m.Pools[j.Pool].Name, "kind", trace.Kind(k).String())
			}
		}
	}
	each("job_tasks", "Tasks of a job that are known.", func(j *view.DrawnJob) [trace.Kinds]int32 { return [trace.Kinds]int32{j.Maps, j.Reduces} })
	each("job_finished_tasks", "Tasks of a job that are done.", func(j *view.DrawnJob) [trace.Kinds]int32 {
		return [trace.Kinds]int32{j.Finished[trace.Map], j.Finished[trace.Reduce]}
	})
}

// data writes the metrics of bytes and CPU time of the attempts that have finished their tasks. It also writes
// those of the spills and kvbuffers of all attempts, and of the process.
func (w metricsWriter) data(m *view.Model) {
	var in, out, copied, spilled, cpu, growths, refusals float64
	for i := range m.Ends {
		if b := &m.Bars[m.Ends[i].Bar]; b.Done {
			in += float64(b.InBytes)
			out += float64(b.OutBytes)
			copied += float64(b.CopyBytes)
			cpu += b.CPU.Seconds()
		}
	}
	for _, s := range m.Spills {
		spilled += float64(s.Bytes)
	}
	for _, b := range m.Buffers {
		switch b.Step {
		case view.BufferGrow:
			growths++
		case view.BufferRefuse:
			refusals++
		}
	}
	w.one("attempt_input_bytes_total", "counter", "Bytes that committed attempts have read.", in)
	w.one("attempt_output_bytes_total", "counter", "Bytes that committed attempts have written.", out)
	w.one("shuffle_bytes_total", "counter", "Bytes that committed reduces have copied.", copied)
	w.one("attempt_cpu_seconds_total", "counter", "CPU time of committed attempts.", cpu)
	w.one("spills_total", "counter", "Spills.", float64(len(m.Spills)))
	w.one("spilled_bytes_total", "counter", "Bytes of spills.", spilled)
	w.one("kvbuffer_growths_total", "counter", "Times that a kvbuffer has grown.", growths)
	w.one("kvbuffer_refusals_total", "counter", "Times that a kvbuffer might not grow.", refusals)
	if n := len(m.Usages); n > 0 {
		u := m.Usages[n-1]
		w.one("process_cpu_seconds_total", "counter", "CPU time of the process since the start of the run.", u.CPU.Seconds())
		w.one("buffer_bytes", "gauge", "Memory of buffers.", float64(u.MemoryBytes))
		w.one("temporary_file_bytes", "gauge", "Bytes of temporary files.", float64(u.TempBytes))
	}
}
