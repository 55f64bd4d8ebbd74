// Command sessions is an example of a typed job with a secondary sort. It reads CSV files with lines
// "user,time,page". For each session of a user, it prints the begin, the end and the number of pages. A pause of 30
// minutes ends a session.
package main

import (
	"context"
	"iter"
	"log"
	"os"
	"time"

	"mrlocal"
	"mrlocal/jobs/typed"
)

type visit = typed.Pair[string, time.Time] // a user and a time, by which visits are sorted

type session struct {
	User       string
	Begin, End time.Time
	Pages      int
}

func split(visits iter.Seq2[visit, struct{}], emit func(session)) error {
	var s session
	for v := range visits { // of one user
		if v.Value.Unix() > s.End.Unix()+30*60 { // as at the first visit
			if s.Pages > 0 {
				emit(s)
			}
			s = session{User: v.Key, Begin: v.Value}
		}
		s.End, s.Pages = v.Value, s.Pages+1
	}
	emit(s)
	return nil
}

func main() {
	if _, err := mrlocal.RunTyped(context.Background(), typed.Job[visit, visit, struct{}, session]{From: typed.CSV[visit](',', false), GroupBy: 1, Rows: split}, mrlocal.Options{JobOptions: mrlocal.JobOptions{Inputs: os.Args[1:], Stdout: os.Stdout}}); err != nil {
		log.Fatal(err)
	}
}
