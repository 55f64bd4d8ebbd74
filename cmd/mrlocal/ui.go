package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/view/web/lab"
	"mrlocal/view/web/site"
)

// uiHelp is the help text of mrlocal ui below its usage.
const uiHelp = `RUN is a file that --events of run, batch or sim wrote; it may be compressed. The page shows which task held which slot, which slots were lent, and why each decision was made; several runs share one axis of time. Without a RUN the page is a playground: an editor of workload files that simulates as you type. It needs no network other than this program. Ctrl-C ends it.

   mrlocal sim two.yaml --sched fair,pi-dhfs --events run.jsonl
   mrlocal ui run.jsonl.fair run.jsonl.pi-dhfs
   mrlocal ui --addr 127.0.0.1:8080
   mrlocal ui --export site             the playground as files for any web host

Exit codes: 0 the files of --export are written; 2 wrong usage, a port that is taken, a file that is cut short or was not written by mrlocal; 128 plus the number of the signal when interrupted.`

// mostRuns is the largest number of runs on a page. The models of all runs are in memory, here and
// in the browser.
const mostRuns = 16

// uiCommand has the options of mrlocal ui.
type uiCommand struct {
	Env
	page pageOptions
	dir  string // of --export; "": show the page
}

// makeUI returns mrlocal ui, which shows recorded runs or the playground on a page.
func makeUI(e Env) *flags.Command {
	c := &uiCommand{Env: e}
	return &flags.Command{Usage: "show recorded runs, or a playground, on a page in the browser", Args: "[RUN…]", Long: uiHelp, Run: c.run,
		Examples: []string{"mrlocal ui run.jsonl", "mrlocal ui"},
		Settings: append(c.page.Settings(),
			setting.Of("export", "", "write the page with the playground, and the RUNs if there are any, as files into `DIR`, for any web host. The simulator runs in the browser. Needs Go and the sources of mrlocal, unless mrlocal was built after go generate ./view/web", "", setting.Text(&c.dir)),
		)}
}

// run shows the runs that the line names, or the playground, until ctx ends. Then it returns the cause
// of ctx. It reads all runs before it opens the port, so that a broken file is reported at once. With
// --export it writes files instead.
func (c *uiCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	if err := c.page.Check(true); err != nil {
		return 0, err
	}
	switch {
	case c.dir != "" && c.page.Addr != "":
		return 0, errs.Optionf("--addr, --export", "a site is written and not served; choose one")
	case len(line.Words) > mostRuns:
		return 0, errs.Optionf("", "%d runs; one page opens at most %d", len(line.Words), mostRuns)
	}
	// A page without runs is the playground.
	var runs []*lab.Run
	for _, path := range line.Words {
		run, err := loadRun(path)
		if err != nil {
			return 0, err
		}
		runs = append(runs, run)
	}
	if c.dir != "" {
		return Done, exportSite(ctx, c.Stderr, c.dir, runs)
	}
	return Done, c.page.Show(ctx, c.Stderr, runs, nil)
}

// loadRun returns the run of an event file, which may be compressed. Each question about reasons reads
// the file again. So it must be a regular file, and must not move or change.
func loadRun(path string) (*lab.Run, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, errs.Inputf(path, "%v", errs.Cause(err))
	case !info.Mode().IsRegular():
		return nil, errs.Inputf(path, "is not a regular file; name an event file")
	}
	return lab.Recorded(path, func(<-chan struct{}) (io.ReadCloser, error) {
		f, err := OpenEvents(context.Background(), path, nil)
		if err != nil { // a nil *eventFile must not become a non-nil io.ReadCloser
			return nil, err
		}
		return f, nil
	})
}

// exportSite writes the page and its runs as a site into dir. It prints a command that
// serves the site, because browsers do not load WebAssembly from file: addresses.
func exportSite(ctx context.Context, stderr io.Writer, dir string, runs []*lab.Run) error {
	note := func(text string) { fmt.Fprintf(stderr, "mrlocal: page: %s\n", text) }
	if err := site.Write(ctx, dir, site.Options{Runs: runs, Notices: []byte(thirdParty), Note: note}); err != nil {
		return err
	}
	note(fmt.Sprintf("%s is written; look at it with: python3 -m http.server -d %s", errs.Quote(dir), errs.Quote(dir)))
	return nil
}
