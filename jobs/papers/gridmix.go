package papers

import (
	"cmp"
	"hash/crc32"
	"strconv"

	"mrlocal/errs"
	"mrlocal/jobs"
)

// Combine makes the job Combine of Gridmix. It counts words, and the maps combine what they
// emit (Gridmix2, CombinerJobCreator: TokenCounterMapper with IntSumReducer as combiner). The result
// is "word TAB count". RAS runs it with one reduce (--reducers 1).
//
// A count is folded in the kvbuffer of the map, so a map emits each word once a load. The words
// are those of jobs/wordcount: runs of bytes other than blanks.
//
// Memory: words are slices of the block.
func Combine() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "combine", Ordered: true, BuiltIn: true,
		NewMapper: func() jobs.Mapper {
			return &combineMapper{words: jobs.BlankSeparated(), one: jobs.AppendUint64(nil, 1)}
		},
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return jobs.NewSum() },
	}}, nil
}

type combineMapper struct {
	words *jobs.Words
	one   []byte
}

// Map emits each word with the count 1.
func (m *combineMapper) Map(b jobs.Block, out jobs.Emitter) error {
	for words := range m.words.In(b.Data) {
		jobs.EmitSpans(out, b.Data, words, m.one)
	}
	return nil
}

// SelectOptions say how much is kept. The zero value is Gridmix's.
type SelectOptions struct {
	KeepMap    float64 // percent of records that a map keeps; 0: 10
	KeepReduce float64 // percent of those that a reduce keeps; 0: 40
	Stages     int     // jobs of the chain; 0: 3
}

// Select makes the job Select of Gridmix, also called monsterQuery. It is a chain of three jobs.
// Each keeps a tenth of its records in the map and sorts them. It keeps two fifths of these in the
// reduce (Gridmix2, GridMixRunner: -keepmap 10 -keepred 40, three times). The result is the lines
// that are left, in byte order. RAS runs it with one reduce (--reducers 1).
//
// Whether a line is kept depends on its hash, so the result does not depend on how the input is
// divided. Gridmix counts records instead.
//
// Memory: the spans of a block.
func Select(o SelectOptions) (jobs.Chain, error) {
	o.KeepMap, o.KeepReduce, o.Stages = cmp.Or(o.KeepMap, 10), cmp.Or(o.KeepReduce, 40), cmp.Or(o.Stages, 3)
	switch {
	case !(o.KeepMap > 0 && o.KeepMap <= 100):
		return nil, errs.Optionf("Options.KeepMap", "percent, above 0 and at most 100")
	case !(o.KeepReduce > 0 && o.KeepReduce <= 100):
		return nil, errs.Optionf("Options.KeepReduce", "percent, above 0 and at most 100")
	case o.Stages < 1 || o.Stages > 100:
		return nil, errs.Optionf("Options.Stages "+strconv.Itoa(o.Stages), "from 1 to 100")
	}
	var chain jobs.Chain
	for stage := range o.Stages {
		chain = append(chain, jobs.Job{
			Name: "select-" + strconv.Itoa(stage+1), Ordered: true, BuiltIn: true,
			NewMapper: func() jobs.Mapper { return &selectMapper{keep: NewKeep(2*stage, o.KeepMap)} },
			NewReducer: func() jobs.Reducer {
				keep := NewKeep(2*stage+1, o.KeepReduce)
				return jobs.ReducerFunc(func(line []byte, vs *jobs.Values, out jobs.Emitter) error {
					for kept := keep.Line(line); kept && vs.Next(); {
						out.Emit(line, nil)
					}
					return nil
				})
			},
		})
	}
	return chain, nil
}

// Keep decides which lines a step keeps.
type Keep struct {
	table *crc32.Table
	salt  uint64
	below uint64 // of hashes
}

// NewKeep makes the rule of a step, which keeps so many percent of all lines. Each step decides
// anew.
func NewKeep(step int, percent float64) Keep {
	return Keep{crc32.MakeTable(crc32.Castagnoli), uint64(step+1) * 0x9e3779b97f4a7c15, uint64(percent / 100 * (1 << 32))}
}

// Line reports whether the line is kept.
func (k Keep) Line(line []byte) bool {
	h := (uint64(crc32.Checksum(line, k.table)) + 1) ^ k.salt
	return mix64(h)>>32 < k.below
}

type selectMapper struct {
	keep  Keep
	spans []jobs.Span
}

// Map emits the lines that are kept.
func (m *selectMapper) Map(b jobs.Block, out jobs.Emitter) error {
	m.spans = m.spans[:0]
	at := 0
	for line := range b.Lines() {
		if m.keep.Line(line) {
			m.spans = append(m.spans, jobs.Span{Off: uint32(at), Len: uint32(len(line))})
		}
		at += len(line) + 1
	}
	jobs.EmitSpans(out, b.Data, m.spans, nil)
	return nil
}
