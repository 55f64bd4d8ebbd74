// Command join is an example of a typed join. Its first argument is a CSV file of users, "id,name", and the others
// are CSV files of orders, "id,item". It prints the name of a user with each item.
package main

import (
	"context"
	"iter"
	"log"
	"os"

	"mrlocal"
	"mrlocal/jobs/typed"
)

type user = typed.Pair[int, string]

type order = typed.Pair[int, string]

var named = typed.Join[user, order, int, typed.Pair[string, string]]{
	Left: typed.CSV[user](',', false), LeftKey: func(u user) int { return u.Key },
	Right: typed.CSV[order](',', false), RightKey: func(o order) int { return o.Key },
	Reduce: func(_ int, users []user, orders iter.Seq[order], emit func(typed.Pair[string, string])) error {
		for o := range orders {
			for _, u := range users {
				emit(typed.Pair[string, string]{Key: u.Value, Value: o.Value})
			}
		}
		return nil
	}}

func main() {
	if _, err := mrlocal.RunTyped(context.Background(), named, mrlocal.Options{JobOptions: mrlocal.JobOptions{Inputs: os.Args[1:], Stdout: os.Stdout}}); err != nil {
		log.Fatal(err)
	}
}
