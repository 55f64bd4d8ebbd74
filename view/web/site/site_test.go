package site

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrlocal/internal/errs"
	"mrlocal/view/viewtest"
	"mrlocal/view/web/lab"
)

// recorded returns a run and the text of its events.
func recorded(t *testing.T) (*lab.Run, []byte) {
	t.Helper()
	events := viewtest.Runs()[1].Simulate(t).Events
	run := lab.NewRun("run <b>.jsonl", func(<-chan struct{}) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(events)), nil })
	return run, events
}

func TestASiteIsWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	run, events := recorded(t)
	m := module{wasmFile: []byte("wasm"), execFile: []byte("exec"), licenseFile: []byte("license")}
	if err := fill(dir, 0o777, m, &Options{Runs: []*lab.Run{run}, Notices: []byte("notices")}); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	index := read("index.html")
	for _, want := range []string{"<html lang=\"en\" data-site>", "default-src 'self'; img-src 'self' blob:; script-src 'self' 'wasm-unsafe-eval'", `name="referrer" content="no-referrer"`} {
		if !strings.Contains(index, want) {
			t.Errorf("index.html has no %s", want)
		}
	}
	var c contents
	if err := json.Unmarshal([]byte(read("site.json")), &c); err != nil || len(c.Runs) != 1 || c.Runs[0].Name != "run <b>.jsonl" {
		t.Errorf("%+v, %v", c, err)
	}
	z, err := gzip.NewReader(strings.NewReader(read(c.Runs[0].File)))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || !bytes.Equal(text, events) {
		t.Errorf("the events are not those of the run: %v", err)
	}
	if read("lab.wasm.gz")+read("wasm_exec.js")+read("LICENSE-Go.txt")+read("THIRD_PARTY.txt") != "wasmexeclicensenotices" {
		t.Error("the module is not there")
	}
	// Each file that a file of the page loads is there.
	for _, name := range []string{"main.js", "offline.js", "worker.js", "unpack.js", "style.css"} {
		read(name)
	}
	if exists, err := usable(dir); !exists || err != nil {
		t.Errorf("a site cannot be written again: %v, %v", exists, err)
	}
}

func TestDirectoriesThatAreRefused(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "site.json"), []byte(`{"kind":"other"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"files of others": full, "a file": filepath.Join(full, "site.json"), "no parent": filepath.Join(full, "a", "b")} {
		if err := Write(t.Context(), dir, Options{}); !errs.IsUsage(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := usable(t.TempDir()); err != nil {
		t.Errorf("an empty directory: %v", err)
	}
}

// TestTheModuleIsSmall looks at what go generate ./view/web has left here, if anything.
func TestTheModuleIsSmall(t *testing.T) {
	m := ours()
	if m == nil {
		t.Skip("go generate ./view/web has not been called here")
	}
	if len(m[wasmFile]) > 3<<20 {
		t.Errorf("the module has %d bytes, at most 3 MiB", len(m[wasmFile]))
	}
}
