package pictures

import (
	"bytes"
	"compress/gzip"
	"io"

	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/slots/explain"
	"mrlocal/view"
	"mrlocal/view/html"
)

// mostEventBytes bounds the compressed events inside a report.
const mostEventBytes = 16 << 20

// mostReasons bounds the loans whose reasons stand in a report.
const mostReasons = 200

// webReport is the file of --html, which has all runs. It is written anew after each run, so
// that it is whole whatever becomes of the next one.
type webReport struct {
	path   string
	work   process.Work
	title  string
	runs   []html.Run
	events *packer // of the run that goes on
}

// packer compresses events in memory, up to mostEventBytes. It is a writer of the run's
// stream, on the goroutine of the run.
type packer struct {
	b    bytes.Buffer
	z    *gzip.Writer
	full bool
}

// newPacker returns a packer for the events of one run.
func newPacker() *packer {
	p := &packer{}
	p.z = gzip.NewWriter(&p.b)
	return p
}

// Write never fails: beyond the bound it forgets what it has.
func (p *packer) Write(text []byte) (int, error) {
	if !p.full {
		_, _ = p.z.Write(text) // into memory
		if p.full = p.b.Len() > mostEventBytes; p.full {
			p.b = bytes.Buffer{}
		}
	}
	return len(text), nil
}

// bytes returns the compressed events, or nil if there were too many.
func (p *packer) bytes() []byte {
	if p.full || p.z.Close() != nil {
		return nil
	}
	return p.b.Bytes()
}

// add adds a run that has ended, and writes the report.
func (r *webReport) add(name string, m *view.Model) error {
	run := html.Run{Model: m, Events: r.events.bytes(), EventFile: "run-" + name + ".jsonl.gz"}
	if run.Events != nil {
		z, err := gzip.NewReader(bytes.NewReader(run.Events))
		if err != nil {
			return err
		}
		loans := 0
		// A policy that cannot be replayed has no reasons. The report says the rest.
		_ = explain.Reasons(z, explain.Options{}, func(x *explain.Reason) bool {
			if b := barOf(m, x.Seq); b != nil && b.Lent {
				run.Reasons = append(run.Reasons, x)
				loans++
			}
			return loans < mostReasons
		})
	}
	r.runs = append(r.runs, run)
	out, err := r.work.Open("html", r.path)
	if err != nil {
		return err
	}
	o := file{path: r.path, out: out, write: func(w io.Writer, _ *view.Model) error {
		d := html.New(w, r.title)
		for i := range r.runs {
			d.Run(r.runs[i])
		}
		return d.Close()
	}}
	return o.save(m)
}

// barOf returns the bar of a start, or nil.
func barOf(m *view.Model, seq uint64) *view.Bar {
	// Bars are in the order of their numbers.
	low, high := 0, len(m.Bars)
	for low < high {
		if at := (low + high) / 2; m.Bars[at].Seq < seq {
			low = at + 1
		} else {
			high = at
		}
	}
	if low < len(m.Bars) && m.Bars[low].Seq == seq {
		return &m.Bars[low]
	}
	return nil
}

// HTML returns the file of --html of a command whose result is a table, or nil.
func HTML(path string, w process.Work) (*Table, error) {
	out, err := w.Open("html", path)
	if out == nil || err != nil {
		return nil, err
	}
	return &Table{file{path: path, out: out}}, nil
}

// Table is a report of a table, for commands without runs of their own. A nil Table writes
// nothing.
type Table struct{ file }

// OnStdout reports whether the report goes to standard output.
func (t *Table) OnStdout() bool { return t != nil && t.out.OnStdout() }

// Write writes the report: the CSV text as a table, and chart unless it is nil. verdicts adds
// pictures of figures against those of a paper.
func (t *Table) Write(title string, csv []byte, verdicts bool, chart func(w io.Writer) error) error {
	if t == nil {
		return nil
	}
	t.write = func(w io.Writer, _ *view.Model) error {
		d := html.New(w, title)
		if chart != nil {
			d.Picture("Chart", chart)
		}
		d.CSV("Figures", csv, verdicts)
		return d.Close()
	}
	return t.save(nil)
}
