package site

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"mrlocal/errs"
)

// module is the simulator for browsers, and what belongs to it.
type module struct {
	Wasm    []byte // compressed by gzip
	Exec    []byte // wasm_exec.js of the Go that has compiled it
	License []byte // of that Go
	Sources string // hash of what it was compiled from
}

// files returns the files of a module by their names on a site.
func (m *module) files() map[string][]byte {
	return map[string][]byte{"lab.wasm.gz": m.Wasm, "wasm_exec.js": m.Exec, "LICENSE-Go.txt": m.License}
}

//go:embed module
var generated embed.FS

// ours returns the module that was in the program when it was built. It returns nil if go
// generate had not run: the embedded directory then holds a note alone.
func ours() *module {
	read := func(name string) []byte {
		// A missing file gives nil, which ours takes for no module.
		text, _ := generated.ReadFile("module/" + name)
		return text
	}
	m := &module{Wasm: read("lab.wasm.gz"), Exec: read("wasm_exec.js"), License: read("LICENSE-Go.txt"), Sources: strings.TrimSpace(string(read("sources")))}
	if m.Wasm == nil || m.Exec == nil {
		return nil
	}
	return m
}

// moduleFor returns the module of this program, if it has one that is not stale, or
// compiles one. Without sources, or without Go, nothing tells whether a module is stale, so
// it is taken as it is.
func moduleFor(ctx context.Context, note func(string)) (*module, error) {
	mine, root := ours(), root()
	_, missing := exec.LookPath("go")
	if mine != nil && (root == "" || missing != nil) {
		return mine, nil
	}
	if root == "" || missing != nil {
		what := "the sources of mrlocal are not where it was built, nor here"
		if root != "" {
			what = "the command go is not in PATH"
		}
		return nil, errs.Optionf("simulator", "%s, so it cannot be compiled for browsers; or build mrlocal after go generate ./web, which puts it into the program", what)
	}
	if mine != nil {
		now, err := sourcesOf(ctx, root)
		if err != nil {
			return nil, err
		}
		if now == mine.Sources {
			return mine, nil
		}
		note("the simulator in this program is stale: " + root + " has changed since go generate ./web; compiling it anew")
	}
	return compile(ctx, root)
}

// compile compiles the simulator from the sources in root. The first time takes a minute or
// two, since Go compiles its own packages for browsers too; later ones take seconds.
func compile(ctx context.Context, root string) (*module, error) {
	m := &module{}
	var err error
	if m.Sources, err = sourcesOf(ctx, root); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mrlocal-site-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	wasm := filepath.Join(dir, "lab.wasm")
	if _, err := goTool(ctx, root, "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", wasm, "./web/wasm"); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(wasm)
	if err != nil {
		return nil, err
	}
	if m.Wasm, err = packed(text); err != nil {
		return nil, err
	}
	goroot, err := goTool(ctx, root, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	at := strings.TrimSpace(string(goroot))
	if m.Exec, err = os.ReadFile(filepath.Join(at, "lib", "wasm", "wasm_exec.js")); err != nil {
		return nil, err
	}
	if m.License, err = os.ReadFile(filepath.Join(at, "LICENSE")); err != nil {
		m.License, err = m.Exec[:bytes.IndexByte(m.Exec, '"')], nil // distributions keep it elsewhere; its head names it
	}
	return m, err
}

// goTool runs the command go in root, for browsers, and returns what it prints. Its error
// has the first line that go wrote to standard error. If ctx ends, the error is the cause
// of ctx.
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

// root returns the directory of the sources that this program was built from, or of those
// around the working directory; "": neither is there.
func root() string {
	// This file is web/site/module.go, so the sources are three levels up. The path is that of
	// the build machine, or not a path at all with -trimpath.
	_, file, _, _ := runtime.Caller(0)
	candidates := []string{filepath.Dir(filepath.Dir(filepath.Dir(file)))}
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
		// A module of another project may have the same name.
		if _, err := os.Stat(filepath.Join(dir, "web", "wasm", "wasm.go")); err == nil {
			return dir
		}
	}
	return ""
}

// sourcesOf returns a hash of the sources of the simulator: its packages of this module,
// and the versions of all others. Names are relative to root and sorted, so that each
// checkout has the same hash.
func sourcesOf(ctx context.Context, root string) (string, error) {
	list, err := goTool(ctx, root, "list", "-deps", "-f", `{{if and .Module .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}`, "./web/wasm")
	if err != nil {
		return "", err
	}
	names := []string{filepath.Join(root, "go.mod"), filepath.Join(root, "go.sum")}
	for lines := bufio.NewScanner(bytes.NewReader(list)); lines.Scan(); {
		if lines.Text() != "" {
			names = append(names, filepath.FromSlash(lines.Text()))
		}
	}
	slices.Sort(names)
	sum := sha256.New()
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		at, err := filepath.Rel(root, name)
		if err != nil {
			return "", err
		}
		// Length and name stand before each text, so no text can pass for the end of another.
		fmt.Fprintf(sum, "%s %d\n", filepath.ToSlash(at), len(text))
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Generate compiles the simulator into the sources, from where the next build takes it into
// the program.
func Generate(ctx context.Context) error {
	at := root()
	if at == "" {
		return errors.New("the sources of mrlocal are not here")
	}
	m, err := compile(ctx, at)
	if err != nil {
		return err
	}
	files := m.files()
	files["sources"] = []byte(m.Sources + "\n")
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(at, "web", "site", "module", name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
