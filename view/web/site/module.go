package site

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"mrlocal/internal/errs"
)

// module is the simulator for browsers, with the files of Go that it needs: the files by their names on a site.
type module map[string][]byte

const (
	wasmFile    = "lab.wasm.gz"    // the compiled simulator, compressed by gzip
	execFile    = "wasm_exec.js"   // of the Go version that has compiled it
	licenseFile = "LICENSE-Go.txt" // of that Go version
)

//go:embed module
var generated embed.FS

// ours returns the module that is embedded in this program. It returns nil if go generate ./view/web was
// not called before the build. The embedded directory then has only a note.
func ours() module {
	m := module{}
	for _, name := range []string{wasmFile, execFile, licenseFile} {
		text, err := generated.ReadFile("module/" + name)
		if err != nil {
			return nil
		}
		m[name] = text
	}
	return m
}

// current compiles a module if the sources and Go are here, so it is never stale; it tells note. Otherwise it
// returns the module of this program. It fails with errs.BadOptions if there is none.
func current(ctx context.Context, note func(text string)) (module, error) {
	mine, root := ours(), root()
	_, missing := exec.LookPath("go")
	switch {
	case root != "" && missing == nil:
		if note != nil {
			note("compiling the simulator for browsers; the first time takes a minute or two, later times seconds")
		}
		return compile(ctx, root)
	case mine != nil:
		return mine, nil
	}
	what := "the sources of mrlocal are not where it was built, nor here"
	if root != "" {
		what = "the command go is not in PATH"
	}
	return nil, errs.Optionf("simulator", "%s, so it cannot be compiled for browsers; or build mrlocal after go generate ./view/web, which puts it into the program", what)
}

// compile compiles the simulator from the sources in root. The first call takes a minute or two,
// because Go also compiles its own packages for browsers. Later calls take seconds.
func compile(ctx context.Context, root string) (module, error) {
	m := module{}
	dir, err := os.MkdirTemp("", "mrlocal-site-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	wasm := filepath.Join(dir, "lab.wasm")
	// -trimpath and no VCS data make the module the same on each machine. -s -w make it smaller.
	if _, err := goTool(ctx, root, "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", wasm, "./view/web/wasm"); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(wasm)
	if err != nil {
		return nil, err
	}
	m[wasmFile] = packed(text)
	goroot, err := goTool(ctx, root, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	at := strings.TrimSpace(string(goroot))
	if m[execFile], err = os.ReadFile(filepath.Join(at, "lib", "wasm", "wasm_exec.js")); err != nil {
		return nil, err
	}
	if m[licenseFile], err = os.ReadFile(filepath.Join(at, "LICENSE")); err != nil {
		m[licenseFile], err = m[execFile][:bytes.IndexByte(m[execFile], '"')], nil // a distribution may keep it elsewhere; the head of wasm_exec.js names it
	}
	return m, err
}

// goTool runs the command go in root with browsers as its target, and returns its standard output.
// Its error has the first line of standard error. If ctx ends, the error is the cause of ctx.
func goTool(ctx context.Context, root string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = root
	c.Env = append(c.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	text, err := c.Output()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("go %s: %w: %s", args[0], err, first)
	}
	return text, nil
}

// root returns the directory of the sources of mrlocal; "": there is none. The program was built from
// this directory, or it contains the working directory.
func root() string {
	// This file is view/web/site/module.go, so the sources are four levels up. The path may not exist
	// here: it is from the build machine, and with -trimpath it is not a path at all.
	_, file, _, _ := runtime.Caller(0)
	candidates := []string{filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(file))))}
	if here, err := os.Getwd(); err == nil {
		for at := here; ; at = filepath.Dir(at) {
			candidates = append(candidates, at)
			if at == filepath.Dir(at) {
				break
			}
		}
	}
	for _, dir := range candidates {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil || !strings.HasPrefix(string(text), "module mrlocal\n") {
			continue
		}
		// Another module may have the same name, so one file is checked as well.
		if _, err := os.Stat(filepath.Join(dir, "view", "web", "wasm", "wasm.go")); err == nil {
			return dir
		}
	}
	return ""
}

// Generate compiles the simulator and writes the module to view/web/site/module in the sources. The next
// build of mrlocal embeds it. Generate fails if the sources or Go are missing.
func Generate(ctx context.Context) error {
	at := root()
	if at == "" {
		return errors.New("the sources of mrlocal are not here")
	}
	m, err := compile(ctx, at)
	if err != nil {
		return err
	}
	for name, text := range m {
		if err := os.WriteFile(filepath.Join(at, "view", "web", "site", "module", name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
