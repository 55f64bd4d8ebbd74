// Package teach runs the lessons of mrlocal demo NAME on the terminal or on the page. A lesson
// runs for real in 20 to 40 s, or at once in virtual time.
//
// On a terminal it asks the reader before each run which slot a decision will choose. A drawing
// of the run until that moment shows what there is to know. The drawing comes from a run at
// once. Then the run takes place, and each note appears when its event happens. At the end
// stands which claims of the lesson held in these runs.
//
// The package keeps the events and the models of two small runs in memory. Neighbours: lesson
// has the lessons, show draws the progress, page and web show the page.
package teach

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/measure"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/errs"
	"mrlocal/lesson"
	"mrlocal/trace"
	"mrlocal/view"
)

// help is the help of mrlocal demo.
const help = `Without a NAME: makes wiki/ unless it exists, then runs the same grep under the policies fair and pi-dhfs, with half of the cores as map slots and half as reduce slots, draws both runs and compares them. It writes nothing but wiki/.

With the NAME of a lesson: runs its workload under two policies, says what happens at the moments that matter, and checks what the lesson claims. On a terminal it asks first which slot a decision will choose; with --ui the page asks. A lesson writes nothing but temporary files.`

// flags returns the flags of mrlocal demo.
func flags() []argv.Spec {
	return append([]argv.Spec{
		{Flag: argv.Flag{Name: "list"}, Help: "list the lessons"},
		argv.ValueSpec("speed", "run a lesson for `real`, which takes 20 s to 40 s, or fast: in virtual time, and for real without slow disks where files are read: `real|fast`", "real; fast with --ui"),
		{Flag: argv.Flag{Name: "no-questions"}, Help: "do not ask which slot a decision will choose"},
		{Flag: argv.Flag{Name: "ui"}, Help: "show the lesson on a page, whose address is printed; Ctrl-C ends it"},
	}, pictures.AddrFlags()...)
}

// Command is mrlocal demo, the first thing that a new user runs: alone it needs no input and no flag.
func Command() command.Command {
	return command.Command{Usage: "make wiki/, run one grep under two policies and compare; or teach a lesson", Args: "[NAME]", Long: help, Flags: flags(),
		Run: func(ctx context.Context, e command.Env, line argv.Line) (_ int, err error) {
			err = demo(ctx, e, line)
			// As in: mrlocal demo | head.
			if command.Gone(err) {
				err = nil
			}
			return command.Done, err
		}}
}

// class is one lesson that goes on, with the runs made so far. All its methods run on one
// goroutine, except the notes of a real run: these are written by the goroutine of the run.
type class struct {
	command.Env
	lesson *lesson.Lesson
	fast   bool      // make each run at once (atOnce)
	width  int       // columns of the text
	input  string    // path of the file that real runs read; "": they sleep
	ask    *answers  // nil: no questions
	runs   []*taught // the runs that have begun, in the order of the lesson
}

// demo runs the lesson that the line names, or lists them. An empty line is the demo of package
// measure.
func demo(ctx context.Context, e command.Env, line argv.Line) error {
	if len(line.Words) == 0 && len(line.Flags) == 0 {
		return measure.Demo(ctx, e.Stdout, e.Stderr)
	}
	r := argv.Reader{Line: line}
	fast := r.Choice("speed", "real", "fast") == "fast" || line.Has("ui") && !line.Has("speed")
	switch {
	case r.Err != nil:
		return r.Err
	case line.Has("list") && len(line.Words) == 0:
		return list(e.Stdout)
	case len(line.Words) == 0:
		return errs.Optionf("", "name a lesson: %s", strings.Join(lesson.Names(), ", "))
	case len(line.Words) > 1 || line.Has("list"):
		return errs.Optionf(argv.Quote(line.Words[len(line.Words)-1]), "one word too many")
	}
	l, err := lesson.Load(line.Words[0])
	if err != nil {
		return err
	}
	// One column stays free, since some terminals break a line that fills the last one. Text of more
	// than 100 columns is hard to read.
	c := &class{Env: e, lesson: l, fast: fast, width: min(100, show.Width(e.Stdout)) - 1}
	// Input is made before the first word, so a full disk ends the lesson at once.
	cleanUp, err := c.prepare(ctx)
	if err != nil {
		return err
	}
	defer cleanUp()
	if line.Has("ui") {
		return c.onPage(ctx, line)
	}
	// Both must be terminals: a script cannot answer, and a file cannot show a question in time.
	if !line.Has("no-questions") && show.IsTerminal(e.Stdin) && show.IsTerminal(e.Stdout) {
		c.ask = newAnswers(e.Stdin)
	}
	return c.teach(ctx)
}

// list writes the names and titles of the lessons.
func list(w io.Writer) error {
	var b strings.Builder
	for _, name := range lesson.Names() {
		l, err := lesson.Load(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%-10s %s [%s]\n", name, l.Title, strings.Join(l.Papers, ", "))
	}
	b.WriteString("mrlocal demo NAME runs one; with --ui on a page in the browser\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// teach runs the lesson on the terminal: for each run the questions, the run with its notes,
// and its drawing; at last which claims held.
func (c *class) teach(ctx context.Context) error {
	c.say("%s [%s]\n", c.lesson.Title, strings.Join(c.lesson.Papers, ", "))
	c.say("%s\n", c.lesson.About)
	if in := c.lesson.Input; in != nil && !c.fast {
		c.say("The disk takes %d MiB a second.\n", in.DiskBytesPerSecond>>20)
	}
	for i := range c.lesson.Runs {
		c.say("\n%d. %s\n", i+1, c.lesson.Runs[i].Title())
		picked, err := c.questions(ctx, i)
		if err != nil {
			return err
		}
		if err := c.run(ctx, i, picked); err != nil {
			return err
		}
	}
	return c.outcomes()
}

// say writes text, broken at the width of the terminal.
func (c *class) say(format string, args ...any) {
	fmt.Fprint(c.Stdout, wrap(fmt.Sprintf(format, args...), c.width))
}

// run makes run i and writes its notes when their events happen, then draws it. A fast run has its
// notes at the end. picked has the slots that the reader chose, by note.
func (c *class) run(ctx context.Context, i int, picked map[int]int32) error {
	// written counts the notes that stand on the screen.
	written := 0
	show := func(write func(string), models []*view.Model) {
		// Items are found anew in the model after each event. Those before written do not change,
		// since events come in order.
		items := ofRun(c.lesson.Items(models), i)
		for ; written < len(items); written++ {
			write(wrap(c.note(&items[written], picked), c.width))
		}
	}
	if c.fast {
		t, err := c.atOnce(ctx, i)
		if err != nil {
			return err
		}
		c.runs = append(c.runs, t)
		show(func(text string) { fmt.Fprint(c.Stdout, text) }, c.models())
	} else {
		screen := c.Screen("auto", nil)
		t := newTaught()
		c.runs = append(c.runs, t)
		// The note stands on the screen above the block.
		t.after = func() { show(screen.Write, c.models()) }
		if err := c.forReal(ctx, i, t, screen); err != nil {
			return err
		}
	}
	return c.draw(i)
}

// note returns the text of a note with its time, and whether the reader was right. A question
// that the reader left open gets its answer.
func (c *class) note(x *lesson.Item, picked map[int]int32) string {
	verdict := ""
	if slot, ok := picked[x.Note]; ok {
		verdict = fmt.Sprintf("You chose slot %d, and %s. ", slot, oneOf(x.Slots))
		if slices.Contains(x.Slots, slot) {
			verdict = fmt.Sprintf("You were right: slot %d. ", slot)
		}
	} else if x.Ask != "" {
		verdict = capital(oneOf(x.Slots)) + ". "
	}
	return fmt.Sprintf("%6.1fs  %s%s\n", x.At.Seconds(), verdict, x.Text)
}

// draw draws run i at the width of the text. The time of a column is the least at which the run fits,
// so it may differ between runs.
func (c *class) draw(i int) error {
	t := c.runs[i]
	line := t.timeline(^uint64(0))
	fmt.Fprintln(c.Stdout)
	return line.Gantt(c.Stdout, trace.GanttOptions{Width: c.width, Names: line.Name})
}

// outcomes writes which claims held in these runs, each with the two numbers that it compares.
// A claim that did not hold is no error: a real run may be disturbed.
func (c *class) outcomes() error {
	all, err := c.lesson.Outcomes(c.models())
	if err != nil {
		return err
	}
	c.say("\nWhat the lesson claims:\n")
	for _, o := range all {
		holds := "holds"
		if !o.Holds {
			holds = "does not hold in these runs"
		}
		c.say("  %s: %s (%.3g against %.3g)\n", o.Text, holds, o.Left, o.Right)
	}
	_, err = fmt.Fprintf(c.Stdout, "\nNext: mrlocal demo %s --ui shows each decision with its reason.\n", c.lesson.Name)
	return err
}

// models returns a model for each run of the lesson; nil for a run that has not begun.
func (c *class) models() []*view.Model {
	all := make([]*view.Model, len(c.lesson.Runs))
	for i, t := range c.runs {
		all[i] = t.model
	}
	return all
}

// ofRun returns the items of run i, from 0, in their order.
func ofRun(items []lesson.Item, i int) (all []lesson.Item) {
	for _, x := range items {
		if x.Run == i {
			all = append(all, x)
		}
	}
	return all
}

// oneOf says which slots were right. There are several if the policy does not care.
func oneOf(slots []int32) string {
	if len(slots) == 1 {
		return fmt.Sprintf("it was slot %d", slots[0])
	}
	var words []string
	for _, s := range slots {
		words = append(words, fmt.Sprint(s))
	}
	return "it was one of the slots " + strings.Join(words, ", ")
}

// capital returns text with a capital first letter. text begins with a character of ASCII.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// wrap breaks lines at spaces so that they have at most width bytes. A word that is longer stays
// whole. Lines that continue a note are indented as its text is.
func wrap(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		indent := ""
		// The time of a note takes nine columns.
		if strings.HasPrefix(line, "  ") {
			indent = "         "
		}
		body := strings.TrimRight(line, "\n")
		for len(body) > width {
			at := strings.LastIndexByte(body[:width+1], ' ')
			if at <= len(indent) {
				break
			}
			b.WriteString(body[:at] + "\n")
			body = indent + body[at+1:]
		}
		b.WriteString(body + line[len(strings.TrimRight(line, "\n")):])
	}
	return b.String()
}
