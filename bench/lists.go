package bench

import (
	"bytes"
	"fmt"
	"path/filepath"
	"text/tabwriter"
)

// List returns a table with a line for each experiment: name, title, paper.
func List(all []*Experiment) []byte {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, x := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\n", x.Name, x.Title, x.Paper)
	}
	_ = t.Flush() // into memory
	return b.Bytes()
}

// Files returns the texts of the workload files of the experiments, each file once.
func Files(all []*Experiment) ([]byte, error) {
	var b bytes.Buffer
	seen := map[string]bool{} // several experiments may share a file
	for _, x := range all {
		if name := filepath.Base(x.File()); !seen[name] {
			seen[name] = true
			text, err := WorkloadText(name)
			if err != nil {
				return nil, err
			}
			b.Write(text)
		}
	}
	return b.Bytes(), nil
}

// Written returns results as csv or json. As text it returns the counts of verdicts.
func Written(results []*Result, format string) ([]byte, error) {
	switch format {
	case "csv":
		return CSV(results), nil
	case "json":
		return JSON(results)
	}
	return []byte(Summary(results)), nil
}
