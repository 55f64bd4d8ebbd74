package jobs_test

import (
	"fmt"
	"strconv"

	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
)

// The longest line that begins with each letter.
func ExampleMapperFunc() {
	lines := jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
		for line := range b.Lines() {
			if len(line) > 0 {
				out.Emit(line[:1], line)
			}
		}
		return nil
	})
	longest := jobs.ReducerFunc(func(letter []byte, vs *jobs.Values, out jobs.Emitter) error {
		most := 0
		for vs.Next() {
			most = max(most, len(vs.Value()))
		}
		out.Emit(letter, strconv.AppendInt(nil, int64(most), 10))
		return nil
	})
	job := jobs.Job{
		Name:       "longest",
		NewMapper:  func() jobs.Mapper { return lines },
		NewReducer: func() jobs.Reducer { return longest },
	}
	text, err := jobtest.Reference(jobs.Chain{job}, []jobtest.File{{Path: "fruits", Data: []byte("apple\navocado\nbanana\n")}})
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// a	7
	// b	6
	// <nil>
}
