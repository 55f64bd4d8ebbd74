package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"slices"

	"mrlocal/slots/explain"
	"mrlocal/slots/policy/registry"
	"mrlocal/view"
	"mrlocal/view/html"
)

// mostEventBytes is the largest size of the compressed events of a run in a report. A report without
// events is still useful, and one of many MiB is slow in a browser.
const mostEventBytes = 16 << 20

// mostReasons is the largest number of loans in a report that have their reasons.
const mostReasons = 200

// webReport is the file of --html, which has all runs. It is written again after each run, so that
// a later run that fails does not take the earlier ones with it.
type webReport struct {
	path   string
	work   Work // what the command reads and writes, for checks of path
	title  string
	runs   []html.Run // that have ended
	events *packer    // the events of the current run
}

// packer is a writer that compresses the events of a run in memory. If the result gets larger than
// mostEventBytes, it drops all events. The goroutine of the run uses it, and after the run that of
// CloseEvents.
type packer struct {
	b    bytes.Buffer
	z    *gzip.Writer
	full bool // the events were dropped
}

// newPacker returns a packer for the events of one run.
func newPacker() *packer {
	p := &packer{}
	p.z = gzip.NewWriter(&p.b)
	return p
}

// Write takes the next events. It never fails.
func (p *packer) Write(text []byte) (int, error) {
	if !p.full {
		_, _ = p.z.Write(text) // into memory
		if p.full = p.b.Len() > mostEventBytes; p.full {
			p.b = bytes.Buffer{}
		}
	}
	return len(text), nil
}

// bytes returns the compressed events, or nil if they were dropped. It ends the packer. The caller
// owns the bytes.
func (p *packer) bytes() []byte {
	if p.full || p.z.Close() != nil {
		return nil
	}
	return p.b.Bytes()
}

// add adds a run that has ended, with its model m, and writes the report of all runs so far.
func (r *webReport) add(name string, m *view.Model) error {
	run := html.Run{Model: m, Events: r.events.bytes(), EventFile: "run-" + name + ".jsonl.gz"}
	if run.Events != nil {
		z, err := gzip.NewReader(bytes.NewReader(run.Events))
		if err != nil {
			return err
		}
		loans := 0
		// Reasons come from a replay. If the events cannot be replayed, the report has no reasons.
		_ = explain.Reasons(z, explain.Options{Policy: registry.ForReplay}, func(x *explain.Reason) bool {
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

// barOf returns the bar of the attempt whose start has the sequence number seq, or nil.
func barOf(m *view.Model, seq uint64) *view.Bar {
	at, ok := slices.BinarySearchFunc(m.Bars, seq, func(b view.Bar, seq uint64) int { return cmp.Compare(b.Seq, seq) })
	if !ok {
		return nil
	}
	return &m.Bars[at]
}

// HTML checks the path of --html of a command whose result is a table. It returns nil if path is
// "". w has what the command reads and writes.
func HTML(path string, w Work) (*Table, error) {
	out, err := w.Open("html", path)
	if out == nil || err != nil {
		return nil, err
	}
	return &Table{file{path: path, out: out}}, nil
}

// Table is the file of --html for a command whose result is a table, such as sweep. The methods of
// a nil Table do nothing.
type Table struct{ file }

// OnStdout reports whether the file is standard output.
func (t *Table) OnStdout() bool { return t != nil && t.out.OnStdout() }

// Write writes the file and closes it. It has the text csv as a table and, unless chart is nil, the
// SVG that chart writes. If verdicts is true, it also has pictures that compare figures with those
// of a paper.
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
