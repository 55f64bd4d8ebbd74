package show

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"mrlocal/trace"
)

// linesInterval is the time between two objects. A shorter run writes the last one alone.
const linesInterval = time.Second

// lines writes the state of the run as objects of JSON, one a line, for programs.
type lines struct{ w io.Writer }

// stateLine is the object. docs/formats.md describes its fields.
type stateLine struct {
	Kind        string    `json:"kind"` // "progress"
	Schema      int       `json:"schema"`
	AtSeconds   float64   `json:"at_s"`
	Policy      string    `json:"policy"`
	JobsTotal   int       `json:"jobs_total"`
	JobsEnded   int       `json:"jobs_ended"`
	Jobs        []jobLine `json:"jobs"`
	Slots       string    `json:"slots"`
	CPUSeconds  float64   `json:"cpu_s"`
	MemoryBytes int64     `json:"memory_bytes"`
	TempBytes   int64     `json:"temp_bytes"`
	Last        bool      `json:"last"`
}

// jobLine is a job that runs, or that has ended since the line before.
type jobLine struct {
	Name    string     `json:"name"`
	Ended   bool       `json:"ended"`
	Sealed  bool       `json:"sealed"`
	Maps    phaseFacts `json:"maps"`
	Reduces phaseFacts `json:"reduces"`
}

// phaseFacts are the tasks of a kind.
type phaseFacts struct {
	Total          int32   `json:"total"`
	Running        int     `json:"running"`
	Done           int32   `json:"done"`
	Share          float64 `json:"share"`
	Bytes          int64   `json:"bytes"`
	BytesPerSecond float64 `json:"bytes_per_s"`
	RemainingS     float64 `json:"remaining_s"`
}

// noteLine is a message of the run.
type noteLine struct {
	Kind string `json:"kind"` // "note"
	Note string `json:"note"`
}

func (l *lines) interval() time.Duration { return linesInterval }

func (l *lines) draw(m *model, now time.Duration) { l.write(m.state(now)) }

// note writes an object for each line of text. The prefix of messages for people goes.
func (l *lines) note(text string) {
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		l.write(noteLine{"note", strings.TrimPrefix(line, "mrlocal: ")})
	}
}

// close writes the last object. A run that was refused has none.
func (l *lines) close(m *model, now time.Duration) {
	if m == nil {
		return
	}
	s := m.state(now)
	s.Last = true
	l.write(s)
}

func (l *lines) write(object any) {
	text, err := json.Marshal(object)
	if err != nil { // structs of texts and finite numbers
		return
	}
	_, _ = l.w.Write(append(text, '\n'))
}

// state returns the object of this moment, and notes which jobs it has reported as ended.
func (m *model) state(now time.Duration) *stateLine {
	s := &stateLine{Kind: "progress", Schema: 1, AtSeconds: inSeconds(now), Policy: m.policy, JobsTotal: len(m.jobs), Jobs: []jobLine{},
		Slots: m.strip(now), CPUSeconds: inSeconds(m.usage.cpu), MemoryBytes: m.usage.memoryBytes, TempBytes: m.usage.tempBytes}
	for _, j := range m.jobs {
		if j.ended {
			s.JobsEnded++
		}
		if !j.runs() && (!j.ended || j.reported) {
			continue
		}
		j.reported = j.ended
		s.Jobs = append(s.Jobs, jobLine{Name: j.name, Ended: j.ended, Sealed: j.sealed, Maps: j.facts(trace.Map, now), Reduces: j.facts(trace.Reduce, now)})
	}
	return s
}

func (j *jobState) facts(k trace.Kind, now time.Duration) phaseFacts {
	t := &j.kinds[k]
	return phaseFacts{Total: t.total, Running: len(t.running), Done: t.done, Share: t.share(),
		Bytes: int64(t.doneBytes(k)), BytesPerSecond: float64(int64(j.bytesPerSecond(k, now))), RemainingS: inSeconds(j.remaining(k, now))}
}

// inSeconds returns a time in seconds, to the millisecond.
func inSeconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }
