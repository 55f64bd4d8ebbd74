package tools

import (
	"context"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/jobs/sort"
)

const sortHelp = `Usage: mrlocal sort [FLAG]... [FILE]...
`

// sortTool is GNU sort on the engine.
func sortTool() Tool {
	return Tool{Name: "sort", Usage: "sort lines as GNU sort does", Help: sortHelp, Flags: sortFlags(), Run: runSort}
}

func sortFlags() []argv.Spec { return nil }

func runSort(ctx context.Context, c *Call) (int, error) {
	chain, err := sort.New(sort.Options{})
	if err != nil {
		return 0, err
	}
	if c.Options.Inputs = c.Line.Words; len(c.Options.Inputs) == 0 {
		c.Options.Inputs = []string{"-"}
	}
	_, err = c.RunChain(ctx, chain)
	return 0, err
}
