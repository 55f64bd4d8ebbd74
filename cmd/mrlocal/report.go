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
	out    *AuxFile   // is written again from its start after each run
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
	again := *r.out
	return again.Save(func(w io.Writer) error {
		d := html.New(w, "Runs of mrlocal")
		for i := range r.runs {
			d.Run(r.runs[i])
		}
		return d.Close()
	})
}

// barOf returns the bar of the attempt whose start has the sequence number seq, or nil.
func barOf(m *view.Model, seq uint64) *view.Bar {
	at, ok := slices.BinarySearchFunc(m.Bars, seq, func(b view.Bar, seq uint64) int { return cmp.Compare(b.Seq, seq) })
	if !ok {
		return nil
	}
	return &m.Bars[at]
}

// saveTable writes the file of --html for a command whose result is a table, such as sweep. It has the text csv as a
// table and, unless chart is nil, the SVG that chart writes. If verdicts is true, it also has pictures that compare
// figures with those of a paper. For a nil file it does nothing.
func (s *AuxFile) saveTable(title string, csv []byte, verdicts bool, chart func(w io.Writer) error) error {
	if s == nil {
		return nil
	}
	return s.Save(func(w io.Writer) error {
		d := html.New(w, title)
		if chart != nil {
			d.Picture("Chart", chart)
		}
		d.CSV("Figures", csv, verdicts)
		return d.Close()
	})
}
