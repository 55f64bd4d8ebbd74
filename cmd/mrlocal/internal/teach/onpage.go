package teach

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/web/lab"
)

// onPage makes all runs and shows them on the page until ctx ends. The page opens when
// all have ended.
func (c *class) onPage(ctx context.Context, line argv.Line) error {
	for i := range c.lesson.Runs {
		var t *taught
		var err error
		if c.fast {
			t, err = c.atOnce(ctx, i)
		} else {
			fmt.Fprintf(c.Stderr, "mrlocal: demo: %s runs for real\n", c.lesson.Runs[i].Title())
			t = newTaught()
			err = c.forReal(ctx, i, t, c.Screen("auto", nil))
		}
		if err != nil {
			return err
		}
		c.runs = append(c.runs, t)
	}
	var runs []*lab.Run
	for i, t := range c.runs {
		open := func(<-chan struct{}) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(t.file.Bytes())), nil
		}
		run := lab.NewRun(c.lesson.Runs[i].Title(), open)
		run.Follow(nil)
		runs = append(runs, run)
	}
	return pictures.ShowLesson(ctx, c.Stderr, line, c.lesson, runs)
}
