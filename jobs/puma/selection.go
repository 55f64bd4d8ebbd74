package puma

import (
	"cmp"
	"hash/crc32"
	"strconv"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// The job Select of Gridmix, also called monsterQuery, is a chain of three
// jobs. In each job, the maps keep a tenth of the records, and the reduces keep two fifths of these.
// GridMixRunner of Gridmix2 gives -keepmap 10 -keepred 40, three times. The result is the
// remaining lines in byte order. RAS runs it with one reduce.
//
// The hash of a line decides whether it is kept, so the result does not depend on how the input is
// divided. Gridmix counts records instead.
//
// Memory: the spans of a block.

// SelectionOptions say how many records are kept. The zero value is that of Gridmix.
type SelectionOptions struct {
	KeepMap    *float64 // percent of records that a map keeps; nil: 10
	KeepReduce *float64 // percent of these records that a reduce keeps; nil: 40
	Stages     int      // number of jobs in the chain; 0: 3
}

// NewSelection makes the jobs. It fails with an options error (package errs) if an option is out of
// range.
func NewSelection(o SelectionOptions) (chain jobs.Chain, err error) {
	o.KeepMap, o.KeepReduce = cmp.Or(o.KeepMap, new(10.0)), cmp.Or(o.KeepReduce, new(40.0))
	o.Stages = cmp.Or(o.Stages, 3)
	switch {
	case !(*o.KeepMap > 0 && *o.KeepMap <= 100):
		return nil, errs.Fieldf("Options.KeepMap", "must be a percentage above 0 and at most 100")
	case !(*o.KeepReduce > 0 && *o.KeepReduce <= 100):
		return nil, errs.Fieldf("Options.KeepReduce", "must be a percentage above 0 and at most 100")
	case o.Stages < 1 || o.Stages > 100:
		return nil, errs.Fieldf("Options.Stages", "%d: must be from 1 to 100", o.Stages)
	}
	for stage := range o.Stages {
		chain = append(chain, jobs.Job{
			Name: "select-" + strconv.Itoa(stage+1), Ordered: true, BuiltIn: true,
			NewMapper: func() jobs.Mapper { return &selectionMapper{keep: NewKeep(2*stage, *o.KeepMap)} },
			NewReducer: func() jobs.Reducer {
				keep := NewKeep(2*stage+1, *o.KeepReduce)
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

// Keep decides which lines a step keeps. Several goroutines may use it.
type Keep struct {
	table *crc32.Table
	salt  uint64 // makes the steps independent of each other
	below uint64 // lines with a smaller hash, of 32 bits, are kept
}

// NewKeep returns the Keep of a step, which keeps the given percentage of all lines. Different
// steps decide independently.
func NewKeep(step int, percent float64) Keep {
	return Keep{crc32.MakeTable(crc32.Castagnoli), uint64(step+1) * 0x9e3779b97f4a7c15, uint64(percent / 100 * (1 << 32))}
}

// Line reports whether the step keeps the line. Equal lines have equal results.
func (k Keep) Line(line []byte) bool {
	h := (uint64(crc32.Checksum(line, k.table)) + 1) ^ k.salt
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9 // the mixer of SplitMix64
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return (h^h>>31)>>32 < k.below
}

// selectionMapper emits lines. spans is scratch.
type selectionMapper struct {
	keep  Keep
	spans []jobs.Span
}

// Map emits the lines of a block that the step keeps.
func (m *selectionMapper) Map(b jobs.Block, out jobs.Emitter) error {
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

// The job Combine of Gridmix counts words, and the maps combine their output
// (Gridmix2, CombinerJobCreator: TokenCounterMapper with IntSumReducer as combiner). The result is
// "word TAB count". RAS runs it with one reduce.
//
// The kvbuffer of the map folds the counts, so the output of a map has each word once for each load
// of the kvbuffer. As in jobs/wordcount, words are runs of bytes other than blanks.
//
// Memory: words are slices of the block.

// NewCombine makes the job.
func NewCombine() (jobs.Chain, error) {
	return jobs.Chain{{
		Name: "combine", Ordered: true, BuiltIn: true,
		NewMapper:  func() jobs.Mapper { return lines.NewWordCounter(false, false) },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return jobs.NewSum() },
	}}, nil
}
