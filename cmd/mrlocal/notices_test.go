package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mrlocal/internal/testkit"
)

// repository is the path of the repository from this package.
const repository = "../.."

// part is a part of the program that others wrote: a module, or files of the page.
type part struct {
	name    string
	notices []string // texts of its LICENSE, COPYING and NOTICE files
}

var notice = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright)(\..*)?$`)

// noticesOf returns the notices in a folder and in the folders above it, up to root.
func noticesOf(t *testing.T, dir, root string) (texts map[string]string) {
	t.Helper()
	texts = map[string]string{}
	for ; ; dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !e.IsDir() && notice.MatchString(e.Name()) {
				name := filepath.Join(dir, e.Name())
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				texts[name] = string(text)
			}
		}
		if dir == root || len(dir) <= len(root) {
			return texts
		}
	}
}

// goName is the name of the standard library in the list.
const goName = "the standard library of Go"

// linked returns the modules of all packages that the program has on any system.
func linked(t *testing.T) []part {
	t.Helper()
	found := map[string]map[string]string{goName: {}}
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{$.Dir}}\t{{.Dir}}{{end}}{{end}}", "./cmd/mrlocal")
		list.Dir = repository
		list.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		var stderr bytes.Buffer
		list.Stderr = &stderr
		text, err := list.Output()
		if err != nil {
			t.Fatalf("go list: %v: %s", err, stderr.String())
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Split(strings.TrimSpace(line), "\t")
			if len(fields) != 3 {
				continue
			}
			if found[fields[0]] == nil {
				found[fields[0]] = map[string]string{}
			}
			maps.Copy(found[fields[0]], noticesOf(t, fields[1], fields[2]))
		}
	}
	var parts []part
	for _, name := range slices.Sorted(maps.Keys(found)) {
		texts := found[name]
		// The Go authors have one text for the library and for the modules of golang.org/x.
		if name == goName {
			texts = goNotice(t, found)
		}
		p := part{name: name}
		for _, file := range slices.Sorted(maps.Keys(texts)) {
			if !slices.Contains(p.notices, texts[file]) {
				p.notices = append(p.notices, texts[file])
			}
		}
		if len(p.notices) == 0 {
			t.Errorf("%s has no LICENSE, COPYING or NOTICE", name)
		}
		parts = append(parts, p)
	}
	return parts
}

func goNotice(t *testing.T, found map[string]map[string]string) map[string]string {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if strings.HasPrefix(name, "golang.org/x/sys ") {
			return found[name]
		}
	}
	t.Fatal("golang.org/x/sys is not linked any more: where is the licence of Go?")
	return nil
}

var foreign = regexp.MustCompile(`(?i)copyright|@license|spdx-license`)

// vendored returns the files below web that others wrote: those next to or below a notice, and
// those of the Go authors. It fails for a file that names a holder and has no notice.
func vendored(t *testing.T) []part {
	t.Helper()
	found := map[string]part{}
	root, err := filepath.Abs(filepath.Join(repository, "view", "web"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, ".go") || notice.MatchString(d.Name()) {
			return err
		}
		texts := noticesOf(t, filepath.Dir(name), root)
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		below, _ := filepath.Rel(filepath.Dir(root), name)
		switch {
		case len(texts) > 0:
			found[below] = part{filepath.ToSlash(below), slices.Sorted(maps.Values(texts))}
		case bytes.Contains(text, []byte("The Go Authors")) && filepath.Ext(name) == ".js":
			found[below] = part{filepath.ToSlash(below) + ", of the Go authors: the notice of Go", nil}
		case foreign.Match(text) && filepath.Ext(name) != ".wasm":
			t.Errorf("%s names a holder: put the text of its licence into a file LICENSE next to it, in a folder of its own", below)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var parts []part
	for _, name := range slices.Sorted(maps.Keys(found)) {
		parts = append(parts, found[name])
	}
	return parts
}

// write lists the parts and then each text once, below the parts that it belongs to.
func write(parts []part) []byte {
	var b bytes.Buffer
	b.WriteString("mrlocal contains the work of others. This file has their notices.\n\n")
	holders := map[string][]string{}
	var texts []string
	for _, p := range parts {
		fmt.Fprintf(&b, "  %s\n", p.name)
		for _, text := range p.notices {
			text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
			if holders[text] == nil {
				texts = append(texts, text)
			}
			holders[text] = append(holders[text], p.name)
		}
	}
	line := strings.Repeat("-", 80)
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n\n%s\n", line, strings.Join(holders[text], "\n"), line, text)
	}
	return b.Bytes()
}

// TestEverythingThatOthersWroteHasItsNotice fails if THIRD_PARTY lacks a linked module, its
// version, or a vendored file. -rewrite writes it again.
func TestEverythingThatOthersWroteHasItsNotice(t *testing.T) {
	if _, err := exec.LookPath("go"); errors.Is(err, exec.ErrNotFound) {
		t.Skip("there is no go command")
	}
	parts := append(linked(t), vendored(t)...)
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(strings.ToLower(a.name), strings.ToLower(b.name)) })
	testkit.Golden(t, "THIRD_PARTY", write(parts))
	if len(thirdParty) == 0 {
		t.Error("nothing is embedded")
	}
}

// The test finds a file of others that has no notice.
func TestHoldersAreFound(t *testing.T) {
	for text, want := range map[string]bool{
		"/* uPlot (c) 2022, MIT: @license */": true, "// Copyright 2018 The Go Authors.": true, "// SPDX-License-Identifier: MIT": true, "// draws the page": false,
	} {
		if foreign.MatchString(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
