package policytest

import "mrlocal/trace"

// Log is a trace.Sink that keeps every event in memory. Tests of several packages compare whole runs
// event by event, which need no event file for that. A Log belongs to the test.
type Log struct {
	Events []trace.Event
	stream *trace.Stream
}

// Record implements trace.Sink: it appends e to Events.
func (l *Log) Record(s *trace.Stream, e *trace.Event) error {
	l.Events, l.stream = append(l.Events, *e), s
	return nil
}

// Rule returns the rule of a decision among Events.
func (l *Log) Rule(e *trace.Event) trace.Rule { return trace.RuleOf(l.stream.Texts(e.Ref)) }

// Line returns the line of e in an event file. e is one of Events, perhaps changed.
func (l *Log) Line(e *trace.Event) string {
	return string(trace.AppendJSON(nil, e, l.stream.Texts(e.Ref)))
}

// Texts returns the texts that the Ref of one of Events refers to.
func (l *Log) Texts(e *trace.Event) []string { return l.stream.Texts(e.Ref) }
