package e2e

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// axeCore has the text of axe-core 4.14.1 (MPL-2.0, https://github.com/dequelabs/axe-core), which finds what hinders
// readers with a keyboard, a screen reader or weak eyes. Only tests load it.
func axeCore(t *testing.T) string {
	t.Helper()
	f, err := os.Open("testdata/axe.min.js.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// serious returns what axe finds serious or critical on the screen, a line for each rule.
const serious = `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], resultTypes: ['violations'] })
	.then((r) => r.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => v.id + ': ' + v.nodes.slice(0, 4).map((n) => n.html.slice(0, 160)).join(' | ')).join('\n'))`

// Axe finds nothing serious on any screen: runs, folded runs, reasons, tables, each panel, the playground, a lesson,
// the picture to share and a phone.
func TestAxeFindsNothingSerious(t *testing.T) {
	axe := axeCore(t)
	dir, names := recorded(t, borrow, "fair", "pi-dhfs")
	folded, of := recorded(t, fromFile(t, "../../../bench/workloads/fig5.yaml"), "pi-dhfs")
	lesson := []string{"demo", "borrow", "--ui"}
	runs := append([]string{"ui"}, names...)
	for _, s := range []struct {
		name, ready string
		args        []string
		width       int64
		show        []string // expressions
	}{
		{"runs", "document.querySelector('.lanes canvas').dataset.bars === '16'", runs, 1280, []string{"1", "document.querySelector('#inspector button').click()", "document.querySelector('[data-tab=differences]').click()",
			"document.querySelector('[data-tab=shuffle]').click()", "document.querySelector('[data-tab=buffers]').click()", "document.querySelector('#tables').click()", "document.querySelector('#theme').click()", "document.querySelector('#keys').click()"}},
		{"folded", "document.querySelector('.lanes canvas').dataset.bands === '2'", []string{"ui", filepath.Join(folded, of[0])}, 1280, []string{"1", "document.querySelector('#inspector button').click()", "document.querySelector('#critical').click()"}},
		{"share", "document.querySelector('.lanes canvas').dataset.bars === '16'", runs, 390, []string{"document.querySelector('#share').click()", "1"}},
		{"phone", "document.querySelector('.lanes canvas').dataset.bars === '16'", runs, 390, []string{"1"}},
		{"playground", "document.querySelector('#mistake.good')", []string{"ui"}, 1280, []string{"1"}},
		{"playground on a phone", "document.querySelector('#mistake.good')", []string{"ui"}, 390, []string{"1"}},
		{"lesson", "document.querySelector('#lesson button')", lesson, 1280, []string{"1", "document.querySelector('#lesson button').click()"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			tab := open(t, serve(t, dir, s.args...))
			do(t, tab, chromedp.EmulateViewport(s.width, 800))
			until(t, tab, s.ready)
			do(t, tab, chromedp.Evaluate(axe, nil))
			for _, step := range s.show {
				var found string
				do(t, tab, chromedp.Evaluate(step, nil), chromedp.Sleep(4*pause), chromedp.ActionFunc(func(ctx context.Context) error {
					return chromedp.Evaluate(serious, &found, awaited).Do(ctx)
				}))
				if found != "" {
					t.Errorf("after %s:\n%s", step, found)
				}
			}
		})
	}
}
