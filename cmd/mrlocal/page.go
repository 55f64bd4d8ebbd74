package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/trace"
	"mrlocal/view/lesson"
	"mrlocal/view/web"
	"mrlocal/view/web/lab"
	"mrlocal/view/web/site"
)

// pageOptions are the flags of a page. Addr and AllowRemote are those of the server.
type pageOptions struct {
	web.Options
	On, Hold bool // --ui, --ui=hold
}

// Settings returns --addr and --allow-remote.
func (o *pageOptions) Settings() []setting.Setting {
	return setting.In("PAGE", []setting.Setting{
		setting.Of("addr", "Addr", "`HOST:PORT` of the page; only this machine can open it unless --allow-remote is given", "a free port of 127.0.0.1", setting.Text(&o.Addr)),
		setting.Of("allow-remote", "AllowRemote", "let --addr be an address that other machines reach; the page then needs the token in the printed address", "", setting.Toggle(&o.AllowRemote)),
	})
}

// RunSettings returns Settings and --ui, for a command that runs something.
func (o *pageOptions) RunSettings() []setting.Setting {
	ui := setting.Of("ui", "", "print the address of a page that follows the run: slots, loans, decisions with their reasons; --ui=hold keeps the page after the run until Ctrl-C", "",
		setting.Value{Bare: true, Words: []string{"hold"}, Set: func(text string) error {
			if o.On, o.Hold = true, text == "hold"; !o.Hold && text != "true" {
				return fmt.Errorf("%s: no such choice; --ui or --ui=hold", errs.Quote(text))
			}
			return nil
		}})
	return append(setting.In("PAGE", []setting.Setting{ui}), o.Settings()...)
}

// Check refuses flags that contradict each other. on says that there is a page.
func (o *pageOptions) Check(on bool) error {
	switch {
	case o.AllowRemote && o.Addr == "":
		return errs.Optionf("--allow-remote", "needs --addr HOST:PORT")
	case !on && o.Addr != "":
		return errs.Optionf("--addr", "needs --ui")
	}
	return nil
}

// Run calls run and returns its result. p is the page of --ui, which is open during the call, or nil
// without --ui. If run returns no error, the page stays open as long as Page.end says. The first run
// prints the address, and not Run, because the line may have a mistake that run finds.
func (o pageOptions) Run(ctx context.Context, stderr io.Writer, run func(p *page) (int, error)) (int, error) {
	if err := o.Check(o.On); err != nil {
		return 0, err
	}
	if !o.On {
		return run(nil)
	}
	server, err := web.Listen(o.Options)
	if err != nil {
		return 0, err
	}
	p := &page{server: server, hold: o.Hold, stderr: stderr}
	defer server.Close()
	code, err := run(p)
	if err == nil {
		p.end(ctx)
	}
	return code, err
}

// page is the page of --ui, which follows the runs of a command. pageOptions.Run opens and closes it. Only
// Watch accepts a nil Page.
type page struct {
	server *web.Server
	hold   bool // --ui=hold
	stderr io.Writer
	once   sync.Once // for printing the address
}

// Show shows runs on a page until ctx ends, and returns the cause of ctx. l is the lesson that the runs
// belong to, or nil.
func (o *pageOptions) Show(ctx context.Context, stderr io.Writer, runs []*lab.Run, l *lesson.Lesson) error {
	server, err := web.Listen(o.Options)
	if err != nil {
		return err
	}
	defer server.Close()
	for _, run := range runs {
		server.Add(run)
	}
	if l != nil {
		server.Teach(l)
	}
	fmt.Fprintf(stderr, "mrlocal: page: %s\n", server.URL())
	<-ctx.Done()
	return context.Cause(ctx)
}

// watch returns a function for the field Watch of a run. It calls next, which may be nil, and then
// attaches the page to the stream. name is the name of the run on the page. For a nil Page, Watch
// returns next.
func (p *page) Watch(name string, next func(*trace.Stream)) func(*trace.Stream) {
	if p == nil {
		return next
	}
	// From now on the page lists the run.
	live := p.server.Live(name)
	return func(s *trace.Stream) {
		p.once.Do(func() { fmt.Fprintf(p.stderr, "mrlocal: page: %s\n", p.server.URL()) })
		if next != nil {
			next(s)
		}
		live.Watch(s)
	}
}

// end waits after the runs. With --ui=hold it waits until ctx ends. Otherwise it waits until each
// open browser has received the end of the run.
func (p *page) end(ctx context.Context) {
	if !p.hold {
		p.server.Finish(ctx)
		return
	}
	fmt.Fprintf(p.stderr, "mrlocal: page: the run has ended; the page stays at %s until Ctrl-C\n", p.server.URL())
	<-ctx.Done()
}

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
	return &flags.Command{Usage: "show recorded runs, or a playground, on a page in the browser", Args: "[RUN…]", Long: helpText("ui"), Run: c.run,
		Examples: []string{"mrlocal ui", "mrlocal ui run.jsonl", "mrlocal sim two.yaml --sched fair,pi-dhfs --events run.jsonl", "mrlocal ui run.jsonl.fair run.jsonl.pi-dhfs", "mrlocal ui --addr 127.0.0.1:8080", "mrlocal ui --export site"},
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
	lab.Shorten(runs)
	if c.dir != "" {
		note := func(text string) { fmt.Fprintf(c.Stderr, "mrlocal: page: %s\n", text) }
		if err := site.Write(ctx, c.dir, site.Options{Runs: runs, Notices: []byte(thirdParty), Note: note}); err != nil {
			return 0, err
		}
		// The command serves the site, because browsers do not load WebAssembly from file: addresses.
		note(fmt.Sprintf("%s is written; look at it with: python3 -m http.server -d %s", errs.Quote(c.dir), errs.Quote(c.dir)))
		return Done, nil
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
