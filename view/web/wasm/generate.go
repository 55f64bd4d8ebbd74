//go:build !js || !wasm

package main

import (
	"context"
	"fmt"
	"os"

	"mrlocal/view/web/site"
)

// main is what `go generate ./view/web` runs. It compiles this package for browsers into view/web/site/module.
// The next build of mrlocal embeds the result.
func main() {
	if err := site.Generate(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "wasm: %v\n", err)
		os.Exit(1)
	}
}
