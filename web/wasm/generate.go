//go:build !js || !wasm

package main

import (
	"context"
	"fmt"
	"os"

	"mrlocal/web/site"
)

// main, outside of browsers, compiles this package for them into web/site/module, from where
// the next build takes it into mrlocal. go generate ./web runs it.
func main() {
	if err := site.Generate(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "wasm: %v\n", err)
		os.Exit(1)
	}
}
