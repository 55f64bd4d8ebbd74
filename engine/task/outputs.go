package task

import (
	"fmt"
	"io"
	"slices"

	"mrlocal/jobs"
)

// outputBytes is the buffer of a named output.
const outputBytes = 16 << 10

// besider is a Part whose attempt may write further files, which are committed with it.
type besider interface {
	Beside(name string) (io.Writer, error)
}

// Beside throws a named output away, as all else.
func (p discardedPart) Beside(string) (io.Writer, error) { return p, nil }

// output returns the Emitter of a named output (jobs.OwnAttempt.Output). An output that cannot be
// had fails the attempt, at its end.
func (a *SlotAttempt) output(name string) jobs.Emitter {
	if text, ok := a.outputs[name]; ok {
		return a.emitter(text)
	}
	text, err := a.openOutput(name)
	if err != nil {
		text = &textOut{w: io.Discard, buf: make([]byte, 0, 64), err: err}
	}
	if a.outputs == nil {
		a.outputs = map[string]*textOut{}
	}
	a.outputs[name] = text
	return a.emitter(text)
}

// openOutput opens a named output beside the part of the attempt. It ends with the part. A name
// that the job does not list is an error, since the result would not have its file for each part.
func (a *SlotAttempt) openOutput(name string) (*textOut, error) {
	if !slices.Contains(a.Job.Spec.Outputs, name) {
		return nil, fmt.Errorf("output %q is none of the job's Outputs", name)
	}
	part, ok := a.part.(besider)
	if !ok {
		return nil, fmt.Errorf("output %q: this attempt writes no part of the result; where a job has reducers, only they do", name)
	}
	w, err := part.Beside(name)
	if err != nil {
		return nil, err
	}
	return newTextOutOf(a, w, outputBytes)
}

// flushOutputs writes what the buffers of named outputs hold, in the order of their names. It
// returns the first error of any of them.
func (a *SlotAttempt) flushOutputs() error {
	for _, name := range a.Job.Spec.Outputs {
		if text := a.outputs[name]; text != nil {
			if err := text.flush(); err != nil {
				return err
			}
			a.Counters.OutputBytes += text.bytes
		}
	}
	for _, text := range a.outputs { // of other names, which have only errors
		if text.err != nil {
			return text.err
		}
	}
	return nil
}
