package mrlocal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mrlocal"
	"mrlocal/jobs"
	"mrlocal/jobs/wordcount"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
)

// letters emits each letter of a block.
func letters(b jobs.Block, out jobs.Emitter) error {
	for _, c := range b.Data {
		if c != '\n' && c != ' ' {
			out.Emit([]byte{c}, []byte{1})
		}
	}
	return nil
}

// count counts the values of a letter.
func count(letter []byte, vs *jobs.Values, out jobs.Emitter) error {
	n := 0
	for vs.Next() {
		n++
	}
	out.Emit(letter, fmt.Append(nil, n))
	return nil
}

// A job of your own: it counts how often each letter occurs.
func ExampleRun() {
	dir, _ := os.MkdirTemp("", "letters")
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "a.txt"), []byte("banana\n"), 0o600)

	job := jobs.Job{
		Name: "letters", Ordered: true,
		NewMapper:  func() jobs.Mapper { return jobs.MapperFunc(letters) },
		NewReducer: func() jobs.Reducer { return jobs.ReducerFunc(count) },
	}
	_, err := mrlocal.Run(context.Background(), job, mrlocal.Options{
		JobOptions: mrlocal.JobOptions{Inputs: []string{dir}, Stdout: os.Stdout},
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// a	3
	// b	1
	// n	2
}

// Two word counts that share the slots under Hadoop's Fair Scheduler.
func ExampleRunBatch() {
	dir, _ := os.MkdirTemp("", "batch")
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one two two\n"), 0o600)

	var batch []mrlocal.BatchJob
	for _, name := range []string{"first", "second"} {
		chain, err := wordcount.New(wordcount.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		batch = append(batch, mrlocal.BatchJob{
			Submission: mrlocal.Submission{Name: name}, Chain: chain,
			JobOptions: mrlocal.JobOptions{Inputs: []string{filepath.Join(dir, "a.txt")}, OutputFile: filepath.Join(dir, name)},
		})
	}
	fair, err := registry.New("fair", policy.DefaultOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := mrlocal.RunBatch(context.Background(), batch, mrlocal.Options{Policy: fair})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, job := range report.Jobs {
		text, _ := os.ReadFile(filepath.Join(dir, job.Name))
		fmt.Printf("%s: %s: %q\n", job.Name, job.State, text)
	}
	// Output:
	// first: succeeded: "one\t1\ntwo\t2\n"
	// second: succeeded: "one\t1\ntwo\t2\n"
}

// By the kind of an error the caller decides what to do next.
func ExampleError() {
	_, err := mrlocal.Run(context.Background(), jobs.Job{Name: "nothing"}, mrlocal.Options{})
	var wrong *mrlocal.Error
	if errors.Is(err, mrlocal.ErrBadOptions) && errors.As(err, &wrong) {
		fmt.Println("correct the call:", wrong)
	}
	// Output: correct the call: job nothing: has no mapper
}
