// Command chain is an example of a chain of two typed jobs. It counts the words of its arguments, and prints them
// by their frequency.
package main

import (
	"context"
	"log"
	"os"
	"strings"

	"mrlocal"
	"mrlocal/jobs/typed"
)

var words = typed.Job[string, string, int, typed.Pair[string, int]]{Sum: true, Map: func(line string, emit func(string, int)) error {
	for w := range strings.FieldsSeq(line) {
		emit(w, 1)
	}
	return nil
}}

type rank = typed.Pair[typed.Desc[int], string]

var ranks = typed.Job[typed.Pair[string, int], rank, struct{}, rank]{Ordered: true, Map: typed.KeyOf(func(w typed.Pair[string, int]) rank {
	return rank{Key: typed.Desc[int]{V: w.Value}, Value: w.Key}
})}

func main() {
	if _, err := mrlocal.RunTyped(context.Background(), typed.Then(words, ranks), mrlocal.Options{JobOptions: mrlocal.JobOptions{Inputs: os.Args[1:], Stdout: os.Stdout}}); err != nil {
		log.Fatal(err)
	}
}
