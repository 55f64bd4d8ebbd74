package puma

import (
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// This file has the job Combine of Gridmix: it counts words, and the maps combine their output
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
