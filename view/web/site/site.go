// Package site writes the page as a static site, which any web host can serve. On such a site the
// browser simulates and answers the questions of the page. It runs package view/web/wasm, compiled to
// WebAssembly: the module.
//
// Write compiles the module from the sources, or takes the one that go generate ./view/web has put into
// the program. It writes the site into a temporary directory and renames that. So there is never a
// directory with half a site.
package site

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/view/web"
	"mrlocal/view/web/lab"
)

// Options are the options of Write. The zero value gives a site with only the playground.
type Options struct {
	Runs []*lab.Run // recorded runs, whose names everyone may see
	// Notices is the text with the licences of third-party code, for a file of the site; nil: no file.
	Notices []byte
	Note    func(text string) // gets what Write does while it takes long; nil: nobody does
}

// contents is the content of site.json. The page reads it first. usable recognises a site by it.
type contents struct {
	Kind   string     `json:"kind"`
	Schema int        `json:"schema"`
	Runs   []runOfDir `json:"runs"`
}

// runOfDir is a recorded run of a site. The page shows Name. File is the path inside the site.
type runOfDir struct {
	Name string `json:"name"`
	File string `json:"file"`
}

const (
	kind     = "mrlocal-site"
	nameFile = "site.json"
)

// Write writes a site to dir, which must be missing, empty, or a site of Write. It replaces an older
// site. It fails with errs.BadOptions if dir cannot be used, or if there is no module and the sources
// or Go are missing.
func Write(ctx context.Context, dir string, o Options) error {
	exists, err := usable(dir)
	if err != nil {
		return err
	}
	m, err := current(ctx, o.Note) // may compile for minutes
	if err != nil {
		return err
	}
	// Rename only works within one file system, so the new site is made in the parent of dir. The
	// old site moves into the same temporary directory, and is removed with it.
	beside, err := os.MkdirTemp(filepath.Dir(filepath.Clean(dir)), ".mrlocal-site-*")
	if err != nil {
		return errs.Optionf(dir, "%v", errs.Cause(err))
	}
	defer os.RemoveAll(beside)
	fresh := filepath.Join(beside, "new")
	if err := fill(fresh, disk.NoMore(dir, 0o777), m, &o); err != nil {
		return fmt.Errorf("write %s: %w", dir, err)
	}
	if exists {
		if err := os.Rename(dir, filepath.Join(beside, "old")); err != nil {
			return fmt.Errorf("write %s: %w", dir, err)
		}
	}
	if err := os.Rename(fresh, dir); err != nil {
		if exists {
			// The old site moves back.
			err = errors.Join(err, os.Rename(filepath.Join(beside, "old"), dir))
		}
		return fmt.Errorf("write %s: %w", dir, err)
	}
	return nil
}

// usable checks that Write may write to dir. It reports whether dir exists.
func usable(dir string) (exists bool, err error) {
	// If the parent is missing, dir is probably misspelt.
	if info, err := os.Stat(filepath.Dir(filepath.Clean(dir))); err != nil || !info.IsDir() {
		return false, errs.Optionf(dir, "the directory that it would be in does not exist")
	}
	names, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, errs.Optionf(dir, "%v", errs.Cause(err))
	case len(names) == 0:
		return true, nil
	}
	var c contents
	// Write removes everything in the directory, so the directory must have a site.json of ours.
	text, err := os.ReadFile(filepath.Join(dir, nameFile))
	if err != nil || json.Unmarshal(text, &c) != nil || c.Kind != kind {
		return false, errs.Optionf(dir, "it has files and is not a site of mrlocal; name another directory")
	}
	return true, nil
}

// fill creates the directory dir with a mode, and writes all files of a site to it. It compresses runs as streams,
// so that memory does not grow with their size.
func fill(dir string, mode fs.FileMode, m module, o *Options) error {
	if err := errors.Join(os.Mkdir(dir, mode), os.Mkdir(filepath.Join(dir, "runs"), 0o777)); err != nil {
		return err
	}
	files := web.Files()
	files["index.html"] = []byte(web.SiteIndex())
	maps.Copy(files, m)
	if o.Notices != nil {
		files["THIRD_PARTY.txt"] = o.Notices
	}
	c := contents{Kind: kind, Schema: 1, Runs: []runOfDir{}}
	for i, run := range o.Runs {
		at := "runs/" + strconv.Itoa(i) + ".jsonl.gz"
		if err := pack(filepath.Join(dir, at), run); err != nil {
			return err
		}
		c.Runs = append(c.Runs, runOfDir{run.Name, at})
	}
	first, err := firstScreen(o.Runs)
	if err != nil {
		return err
	}
	files["first.json.gz"] = packed(first)
	files[nameFile], _ = json.MarshalIndent(c, "", "  ") // never fails: a struct of texts
	files[nameFile] = append(files[nameFile], '\n')
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// firstScreen returns the answers that the page needs to draw its first screen, as a JSON object by question and
// parameters. With them the page draws the runs before the simulator is loaded.
func firstScreen(runs []*lab.Run) ([]byte, error) {
	var l lab.Lab
	answers := map[string]json.RawMessage{}
	answer := func(name, parameters string) error {
		q, _ := url.ParseQuery(parameters) // never fails: the texts are below
		text, err := l.Answer(context.Background(), name, q)
		answers[name+"?"+parameters] = text
		return err
	}
	shown := ""
	for i, run := range runs {
		id := "run=" + l.Add(run).ID
		if err := errors.Join(answer("model", id+"&from=0"), answer("path", id)); err != nil {
			return nil, err
		}
		if i < 2 { // that many runs are on the first screen
			shown = strings.TrimPrefix(shown+"&"+id, "&")
		}
	}
	if shown != "" {
		if err := answer("headline", shown); err != nil {
			return nil, err
		}
	}
	return json.Marshal(answers)
}

// pack compresses the events of a run into the new file to. A host serves the file as it is, and
// the page decompresses it.
func pack(to string, run *lab.Run) (err error) {
	in, err := run.Open(nil)
	if err != nil {
		return err
	}
	defer in.Close()
	// O_EXCL: the directory is new, so the file cannot exist.
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	z := gzip.NewWriter(out)
	if _, err := io.Copy(z, in); err != nil {
		return err
	}
	return z.Close()
}

// packed returns text compressed by gzip at its best level, because every visitor loads the module.
func packed(text []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // nothing here fails: there is such a level, and memory takes all
	_, _ = z.Write(text)
	_ = z.Close()
	return b.Bytes()
}
