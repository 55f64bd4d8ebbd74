package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// offered is whether the page offers the picture that the form asks for.
const offered = "document.querySelector('#png').href.startsWith('blob:') && document.querySelector('#picture img')?.complete"

// drawn decodes the PNG that the page offers, and returns its size, and how many of its sampled pixels are not the
// background.
const drawn = `(async () => {
  const image = new Image();
  image.src = document.querySelector('#png').href;
  await image.decode();
  const { naturalWidth: w, naturalHeight: h } = image, ctx = new OffscreenCanvas(w, h).getContext('2d');
  ctx.drawImage(image, 0, 0);
  const { data } = ctx.getImageData(0, 0, w, h);
  let n = 0, all = 0;
  for (let i = 0; i < data.length; i += 4 * 97, all++) if ([0, 1, 2].some((k) => data[i + k] !== data[k])) n++;
  window.drawn = [w, h, n / all > 0.1 && n / all < 0.95, 'rgb ' + data[0]].join();
})()`

// shares waits for the PNG, and compares it with want.
func shares(t *testing.T, tab context.Context, want string) {
	t.Helper()
	until(t, tab, offered)
	eval(t, tab, drawn)
	until(t, tab, "window.drawn")
	if got := eval(t, tab, "window.drawn"); got != want {
		t.Errorf("the PNG is %s, want %s", got, want)
	}
	eval(t, tab, "delete window.drawn")
}

// TestShare takes the picture of two runs in each shape and theme, as PNG and as SVG.
func TestShare(t *testing.T) {
	dir, names := recorded(t, borrow, "fair", "pi-dhfs")
	tab := open(t, serve(t, dir, append([]string{"ui"}, names...)...))
	until(t, tab, "document.querySelector('#headline').textContent.includes('pi-dhfs ends first')")
	press(t, tab, "s")
	for _, c := range []struct{ shape, theme, want string }{
		{"wide", "light", "1920,1080,true,rgb 255"}, {"square", "light", "1620,1620,true,rgb 255"},
		{"wide", "dark", "1920,1080,true,rgb 21"}, {"square", "dark", "1620,1620,true,rgb 21"},
	} {
		until(t, tab, offered)
		eval(t, tab, fmt.Sprintf("(() => { const f = document.querySelector('#shared form'); f.shape.value = %q; f.theme.value = %q; f.dispatchEvent(new Event('input')) })()", c.shape, c.theme))
		shares(t, tab, c.want)
	}
	if name := eval(t, tab, "document.querySelector('#png').download"); name != "mrlocal-fair-pi-dhfs.png" {
		t.Errorf("the PNG is called %s", name)
	}

	// The SVG is that of --svg, with the address of the page.
	eval(t, tab, "fetch('api/picture?run=0&run=1&link=' + encodeURIComponent(location.href)).then((r) => r.json()).then(({ svg }) => { window.given = svg })")
	until(t, tab, "window.given")
	shared := eval(t, tab, "window.given")
	if words := eval(t, tab, "document.querySelector('#headline').textContent"); !strings.Contains(shared, "<title>"+words+"</title>") {
		t.Errorf("the picture does not have the headline of the page: %s", words)
	}
	c := exec.Command(program, append([]string{"show", "--svg", "runs.svg"}, names...)...)
	c.Dir = dir
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	text, err := os.ReadFile(filepath.Join(dir, "runs.svg"))
	if err != nil {
		t.Fatal(err)
	}
	link := eval(t, tab, "location.href")
	if !strings.Contains(shared, `<a href="`+link) {
		t.Errorf("the SVG has no link to %s", link)
	}
	if bars := strings.Count(shared, `<g class="bar`); bars != 32 {
		t.Errorf("%d bars, want 32", bars)
	}
	head, rest, _ := strings.Cut(shared, "<a href")
	_, rest, _ = strings.Cut(rest, "</a>")
	if head+rest != string(text) {
		t.Error("without its link the SVG differs from that of --svg")
	}
}

// TestTextOfAPictureStaysInside draws runs with long and strange names, and looks where the browser puts their text.
func TestTextOfAPictureStaysInside(t *testing.T) {
	long := strings.Repeat("Wide name of a job MMMM ", 8)
	jobs := ""
	for i, name := range []string{long, "名前の長い仕事" + strings.Repeat("日本語", 12), strings.Repeat("W", 150), strings.Repeat("i", 100) + "😀😀😀"} {
		jobs += fmt.Sprintf("  - {name: %q, pool: %q, maps: %d, reduces: 2, map_time: %ds, reduce_time: 7s}\n", name, name, 20+i, 5+i)
	}
	for name, cluster := range map[string]string{"few slots": "{trackers: 1, map_slots: 2, reduce_slots: 1}", "many slots": "{trackers: 5, map_slots: 7, reduce_slots: 4}"} {
		dir, names := recorded(t, "cluster: "+cluster+"\njobs:\n"+jobs, "fair", "pi-dhfs", "pd-dhfs", "fifo", "dynamicmr", "omo")
		for _, n := range []int{1, 2, 6} {
			for _, flag := range []string{"svg", "cdf", "usage"} {
				path := filepath.Join(dir, fmt.Sprintf("%s%d.svg", flag, n))
				c := exec.Command(program, append([]string{"show", "--" + flag, path, "--title", long}, names[:n]...)...)
				c.Dir = dir
				if text, err := c.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, text)
				}
				tab := open(t, "file://"+path)
				got := eval(t, tab, `Array.from(document.querySelectorAll('text')).filter((e) => {
					const r = e.getBoundingClientRect(), all = document.documentElement.getBoundingClientRect();
					return r.left < all.left || r.right > all.right || r.top < all.top || r.bottom > all.bottom;
				}).map((e) => e.textContent).join(' | ')`)
				if got != "" {
					t.Errorf("%s, %d runs, %s: outside of the picture: %.300s", name, n, flag, got)
				}
				if texts := eval(t, tab, "document.querySelectorAll('text').length"); texts == "0" {
					t.Errorf("%s, %d runs, %s: no text", name, n, flag)
				}
			}
		}
	}
}
