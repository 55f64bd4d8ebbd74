package jobs

import (
	"iter"

	"mrlocal/internal/scan"
)

// Words finds the words of a block, several hundred at a time. It keeps scratch memory, so each
// mapper needs its own.
//
//	for spans := range m.words.In(b.Data) {
//		jobs.EmitSpans(out, b.Data, spans, one)
//	}
type Words struct {
	set   *scan.Bytes
	edges [1024 + scan.EdgesRoom]uint32 // offsets where a word begins, ends, begins, ...
	spans [512 + scan.EdgesRoom/2]Span
}

// BlankSeparated makes a Words that finds runs of bytes other than space, TAB,
// newline, carriage return and form feed.
func BlankSeparated() *Words {
	return &Words{set: scan.NewBytes(func(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r' }, true)}
}

// LettersAndDigits makes a Words that finds runs of ASCII letters and digits.
func LettersAndDigits() *Words {
	return &Words{set: scan.NewBytes(func(c byte) bool { return c-'0' < 10 || c|0x20-'a' < 26 }, false)}
}

// In yields the words of data in order, as spans of data, several hundred in each step. A step
// is borrowed until the next one. data must have less than 4 GiB.
//
// hot: one iteration for several hundred words.
func (w *Words) In(data []byte) iter.Seq[[]Span] {
	return func(yield func([]Span) bool) {
		begun := 0 // 1: edges[0] begins a word whose end is not known yet
		for at := 0; at < len(data); {
			var n int
			n, at = w.set.Edges(w.edges[begun:], data, at)
			n += begun
			for i := range w.spans[:n/2] {
				begin := w.edges[2*i]
				w.spans[i] = Span{Off: begin, Len: w.edges[2*i+1] - begin}
			}
			if n >= 2 && !yield(w.spans[:n/2]) {
				return
			}
			if begun = n & 1; begun == 1 {
				w.edges[0] = w.edges[n-1]
			}
		}
	}
}

// EmitSpans emits one record for each span: its key is the span of data, its
// value is value. It uses the method of out if out is a SpanEmitter, and Emit
// otherwise. All slices are borrowed.
func EmitSpans(out Emitter, data []byte, keys []Span, value []byte) {
	if s, ok := out.(SpanEmitter); ok {
		s.EmitSpans(data, keys, value)
		return
	}
	for _, s := range keys {
		out.Emit(data[s.Off:s.Off+s.Len:s.Off+s.Len], value)
	}
}
