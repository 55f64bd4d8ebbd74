package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/internal/term"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy/registry"
	"mrlocal/trace"
	"mrlocal/view"
	"mrlocal/view/lesson"
)

// This file has mrlocal demo, which runs the lessons of package lesson on a terminal or on a
// page. A lesson runs for real, in 20 to 40 s, or fast: in virtual time, or for real without slow
// disks.
//
// On a terminal, the lesson first asks the user, for some decisions of a run, which slot the policy
// will choose. A gantt shows the run up to that decision. It comes from a fast run, which is then
// dropped. Then the run takes place, and each note of the lesson appears when its event happens. At
// the end the lesson lists which of its claims held in these runs.
//
// The package keeps the events and the models of all runs of one lesson in memory. A lesson has a few
// small runs.

// demoCommand has the options of mrlocal demo.
type demoCommand struct {
	Env
	list, quiet bool // --list, --no-questions
	speed       string
	page        pageOptions
}

// makeDemo returns mrlocal demo. New users run it first, so it needs no input and no flag.
func makeDemo(e Env) *flags.Command {
	c := &demoCommand{Env: e}
	return &flags.Command{Usage: "make wiki/, run one grep under two policies and compare; or teach a lesson", Args: "[NAME]", Long: helpText("demo"),
		Examples: []string{"mrlocal demo", "mrlocal demo --list", "mrlocal demo borrow", "mrlocal demo pools --ui"},
		Settings: append([]setting.Setting{
			setting.Of("list", "", "list the lessons", "", setting.Toggle(&c.list)),
			setting.Of("speed", "", "`real|fast`. real: run the lesson for real, which takes 20 s to 40 s. fast: in virtual time or, if it reads files, for real without slow disks", "real; fast with --ui", setting.Choice(&c.speed, "real", "fast")),
			setting.Of("no-questions", "", "do not ask which slot a decision will choose", "", setting.Toggle(&c.quiet)),
			setting.Of("ui", "", "show the lesson on a page, whose address is printed; Ctrl-C ends it", "", setting.Toggle(&c.page.On)),
		}, c.page.Settings()...),
		Run: func(ctx context.Context, line *flags.Line) (int, error) {
			// In mrlocal demo | head, for example, head closes the pipe early. This is success.
			return Done, unlessGone(c.run(ctx, line.Words))
		}}
}

// session is a lesson that is being taught. One goroutine calls its methods. Only the notes of a
// real run are written by the goroutine of the run, while the first one waits.
type session struct {
	Env
	lesson *lesson.Lesson
	fast   bool          // make each run with atOnce
	width  int           // of the text, in columns
	input  string        // the path that real runs read; "": their tasks sleep
	cell   time.Duration // of a column of the gantts so far
	ask    <-chan string // the answers of the user; nil: ask no questions
	runs   []*lessonRun  // that have begun, in the order of the lesson
}

// run runs the lesson that words name, or the first one, or lists all lessons. It fails with an options
// error for a wrong line.
func (c *demoCommand) run(ctx context.Context, words []string) error {
	switch err := c.page.Check(c.page.On); {
	case err != nil:
		return err
	case c.list && len(words) == 0:
		return list(c.Env)
	case len(words) > 1 || c.list:
		return errs.Optionf(errs.Quote(words[len(words)-1]), "one word too many")
	}
	l, err := lesson.Load(append(words, lesson.Names()...)[0])
	if err != nil {
		return err
	}
	// One column stays free, because some terminals break a line that fills the last one. Lines of
	// more than 100 columns are hard to read.
	s := &session{Env: c.Env, lesson: l, fast: c.speed == "fast" || c.page.On && c.speed == "", width: min(100, c.Env.width()) - 1}
	// The input is made before the lesson begins, so that a full disk ends it at once.
	cleanUp, err := s.prepare(ctx)
	if err != nil {
		return err
	}
	defer cleanUp()
	if c.page.On {
		return s.onPage(ctx, &c.page)
	}
	// A question needs a terminal for input and for output: a script cannot answer, and in a pipe
	// the question may appear too late.
	if !c.quiet && term.IsTerminal(c.Stdin) && term.IsTerminal(c.Stdout) {
		s.ask = newAnswers(c.Stdin)
	}
	return s.teach(ctx)
}

// list writes a line for each lesson: its name, its title and its papers.
func list(e Env) error {
	var b strings.Builder
	for _, name := range lesson.Names() {
		l, err := lesson.Load(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s\t%s [%s]\n", name, l.Title, strings.Join(l.Papers, ", "))
	}
	b.WriteString("mrlocal demo NAME runs one; with --ui on a page in the browser\n")
	return e.Print([]byte(b.String()))
}

// teach runs the lesson on the terminal. For each run it asks the questions, makes the run with its
// notes, and draws the gantt. At the end it lists which claims held.
func (c *session) teach(ctx context.Context) error {
	c.say("%s [%s]\n", c.lesson.Title, strings.Join(c.lesson.Papers, ", "))
	c.say("%s\n", c.lesson.About)
	if in := c.lesson.Input; in != nil && in.DiskBytesPerSecond > 0 && !c.fast {
		c.say("The disk takes %d MiB a second.\n", in.DiskBytesPerSecond>>20)
	}
	for i := range c.lesson.Runs {
		c.say("\n%d. %s\n", i+1, c.lesson.Runs[i].Title())
		if err := c.questions(ctx, i); err != nil {
			return err
		}
		if err := c.run(ctx, i); err != nil {
			return err
		}
	}
	return c.outcomes()
}

// say writes a text to standard output, as errs.Fit lays it out.
func (c *session) say(format string, args ...any) {
	fmt.Fprint(c.Stdout, errs.Fit(fmt.Sprintf(format, args...), c.width))
}

// run makes run i and writes its notes when their events happen. A fast run gets its notes at its
// end. Then run draws the gantt.
func (c *session) run(ctx context.Context, i int) error {
	// written is the number of notes on the screen.
	written := 0
	show := func(write func(string), models []*view.Model) {
		// Items finds all notes again after each event. The notes that are written stay the first ones,
		// because events come in the order of time.
		items := ofRun(c.lesson.Items(models), i)
		for ; written < len(items); written++ {
			write(c.note(&items[written]))
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
		screen := new(shown).Screen(c.Env, nil)
		t := newLessonRun()
		c.runs = append(c.runs, t)
		// The screen writes a note above its block.
		t.after = func() { show(screen.Write, c.models()) }
		if err := c.forReal(ctx, i, t, screen); err != nil {
			return err
		}
	}
	return c.draw(i)
}

// note returns the text of a note with its time. If no questions are asked, the slots come last.
func (c *session) note(x *lesson.Item) string {
	slots := ""
	if x.Ask != "" && c.ask == nil {
		slots = fmt.Sprintf(" (%s)", slotWords(x.Slots))
	}
	at := fmt.Sprintf("%6.1fs  ", x.At.Seconds())
	return errs.Wrap(x.Text+slots, at, strings.Repeat(" ", len(at)), c.width) + "\n"
}

// verdict says whether an answer is right, with the text of the note. An empty answer is none.
func verdict(x *lesson.Item, answer string) string {
	right, some := strings.Join(x.Right, ", "), ""
	if len(x.Right) > 1 {
		some = "one of "
	}
	switch {
	case answer == "":
		return fmt.Sprintf("It was %s%s. %s", some, x.Titled(right), x.Text)
	case slices.Contains(x.Right, answer):
		return fmt.Sprintf("You were right: %s. %s", x.Titled(answer), x.Text)
	}
	return fmt.Sprintf("You chose %s, and it was %s%s. %s", x.Titled(answer), some, x.Titled(right), x.Text)
}

// draw writes the gantt of run i with the width of the text. A column has at least the time of those in the
// gantts before, so that the user can compare them.
func (c *session) draw(i int) error {
	line := c.runs[i].timeline(math.MaxUint64) // all events
	c.cell = max(c.cell, line.Cell(c.width))
	fmt.Fprintln(c.Stdout)
	return c.gantt(line)
}

// gantt draws a run, or a part of it.
func (c *session) gantt(line *trace.Timeline) error {
	o := (&term.Picture{Width: c.width}).Options(c.Stdout, c.Getenv)
	o.Cell, o.Names = c.cell, line.Name
	return line.Gantt(c.Stdout, o)
}

// outcomes writes which claims held in these runs, each with the two numbers that it compares, and why the last
// run lent its first slot. A claim that did not hold is not an error, because other programs may have disturbed a
// real run. Different results of the runs are one.
func (c *session) outcomes() error {
	all, err := c.lesson.Outcomes(c.models())
	if err != nil {
		return err
	}
	last := c.runs[len(c.runs)-1]
	for j, d := range last.result {
		if !d.equal(c.runs[0].result[j]) {
			return fmt.Errorf("a bug in mrlocal: %s and %s gave different results", c.lesson.Runs[0].Title(), c.lesson.Runs[len(c.runs)-1].Title())
		}
		c.say("\nBoth gave the same %s lines.\n", humanize.Comma(int64(d.lines)))
	}
	c.say("\nWhat the lesson claims:\n")
	wrong := false
	for _, o := range all {
		holds := "holds"
		if !o.Holds {
			holds = "does not hold in these runs"
			wrong = true
		}
		c.say("  %s: %s (%.3g against %.3g)\n", o.Text, holds, o.Left, o.Right)
	}
	if wrong && !c.fast {
		c.say("Other programs on this machine disturb single runs. Run the lesson again.\n")
	}
	if last.Totals().Lent > 0 {
		c.say("\nThe first slot that %s lent:\n", c.lesson.Runs[len(c.runs)-1].Title())
		if err := explain.Sentences(c.Stdout, bytes.NewReader(last.file.Bytes()), explain.Options{Policy: registry.ForReplay, FirstLent: true, WhyIdle: -1, Width: c.width}); err != nil {
			return err
		}
	}
	next := strings.ReplaceAll(cmp.Or(c.lesson.Next, "mrlocal demo "+c.lesson.Name+" --ui"), "mrlocal", Program(c.Arg0))
	_, err = fmt.Fprint(c.Stdout, errs.Fit("\nNext, each decision with its reason:\n   "+errs.Command+next+"\n", c.width))
	return err
}

// models returns the model of each run of the lesson, or nil for a run that has not begun.
func (c *session) models() []*view.Model {
	all := make([]*view.Model, len(c.lesson.Runs))
	for i, t := range c.runs {
		all[i] = t.Model
	}
	return all
}

// ofRun returns those items that belong to run i, in their order. It reuses the memory of items.
func ofRun(items []lesson.Item, i int) []lesson.Item {
	return slices.DeleteFunc(items, func(x lesson.Item) bool { return x.Run != i })
}

// slotWords names slots.
func slotWords(slots []int32) string {
	var words []string
	for _, s := range slots {
		words = append(words, fmt.Sprint(s))
	}
	if len(slots) == 1 {
		return "slot " + words[0]
	}
	return "slots " + strings.Join(words, ", ")
}

// newAnswers returns the lines that the user types on the terminal r. A goroutine reads them, because a read from a
// terminal cannot be interrupted. It closes the channel at the end of r, and ends then or with the process. A line
// keeps its newline. No other code may read r after this.
func newAnswers(r io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewReader(r); ; {
			line, err := in.ReadString('\n')
			if err != nil && line == "" {
				return
			}
			lines <- line
		}
	}()
	return lines
}

// questions asks the questions of run i, and says at once whether each answer is right. Before each question it draws
// the gantt up to the decision. For this it makes the run with atOnce, and drops it at the end.
func (c *session) questions(ctx context.Context, i int) error {
	if c.ask == nil || !slices.ContainsFunc(c.lesson.Notes, func(n lesson.Note) bool { return n.Run == i && n.Ask != "" }) {
		return nil
	}
	before, err := c.atOnce(ctx, i)
	if err != nil {
		return err
	}
	c.cell = max(c.cell, before.timeline(math.MaxUint64).Cell(c.width))
	models := c.models()
	// Run i has not begun, so the fast run takes its place.
	models[i] = before.Model
	for _, x := range ofRun(c.lesson.Items(models), i) {
		if x.Ask == "" {
			continue
		}
		// The gantt ends before the decision, because it must not show the answer.
		line := before.timeline(x.Seq)
		fmt.Fprintf(c.Stdout, "\nUntil %.1fs:\n", x.At.Seconds())
		// For a decision at the start of the run, the gantt is empty.
		if line.End > 0 {
			if err := c.gantt(line); err != nil {
				return err
			}
		}
		answer, err := c.pick(ctx, &x)
		if err != nil {
			return err
		}
		c.say("%s\n", verdict(&x, answer))
	}
	return nil
}

// pick asks the question of x until the user enters one of its choices. It returns "" if the user enters an empty
// line, or if the input has ended. The error is the cause of ctx, if ctx ends.
func (c *session) pick(ctx context.Context, x *lesson.Item) (answer string, err error) {
	c.say("%s\n", x.Ask)
	choices := strings.Join(x.Choices, ", ")
	if n := len(x.Choices); n > 4 {
		choices = x.Choices[0] + " to " + x.Choices[n-1]
	}
	for {
		fmt.Fprintf(c.Stdout, "%s, %s (Enter: show me): ", x.Answer, choices)
		select {
		case text, open := <-c.ask:
			if text = strings.TrimSpace(text); !open || text == "" || slices.Contains(x.Choices, text) {
				if !open {
					fmt.Fprintln(c.Stdout) // nobody has ended the line of the prompt
				}
				return text, nil
			}
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}
