// Command top is an example of a typed job with a descending key. It reads JSON lines of sales, and prints the ten
// largest of each shop.
package main

import (
	"context"
	"iter"
	"log"
	"os"

	"mrlocal"
	"mrlocal/jobs/typed"
)

type sale struct {
	Shop  string              `json:"shop"`
	Price typed.Desc[float64] `json:"price"`
	Item  string              `json:"item"`
}

func ten(sales iter.Seq2[sale, struct{}], emit func(sale)) error {
	n := 0
	for s := range sales { // of one shop, by price
		if n++; n <= 10 {
			emit(s)
		}
	}
	return nil
}

var top = typed.Job[sale, sale, struct{}, sale]{From: typed.JSON[sale], GroupBy: 1, Rows: ten, Ordered: true}

func main() {
	if _, err := mrlocal.RunTyped(context.Background(), top, mrlocal.Options{JobOptions: mrlocal.JobOptions{Inputs: os.Args[1:], Stdout: os.Stdout}}); err != nil {
		log.Fatal(err)
	}
}
