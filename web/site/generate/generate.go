// Command generate compiles the simulator for browsers into web/site/module, from where the
// next build takes it into mrlocal. go generate ./web runs it.
//
// Neighbours: web/site does the work.
package main

import (
	"context"
	"fmt"
	"os"

	"mrlocal/web/site"
)

func main() {
	if err := site.Generate(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "generate: %v\n", err)
		os.Exit(1)
	}
}
