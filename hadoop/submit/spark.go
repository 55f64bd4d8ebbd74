package submit

import (
	"cmp"
	"context"
	_ "embed" // driver.py
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mrlocal/hadoop/stream"
	"mrlocal/internal/errs"
	"mrlocal/slots/report"
)

// driverText is the driver of Spark. The line #PLAN stands for the constants of a job.
//
//go:embed driver.py
var driverText string

// driverName is the name of the file of the driver.
const driverName = "mrlocal-driver.py"

// sparkPlan returns the plan for Spark. Its one command runs all jobs of the chain.
func (o *Options) sparkPlan() *Plan {
	p := &Plan{command: cmp.Or(o.Submit, "spark-submit")}
	quoted := make([]string, len(o.Inputs))
	for i, in := range o.Inputs {
		quoted[i] = strconv.QuoteToASCII(in) // a literal of Python too
	}
	var b strings.Builder
	fmt.Fprintf(&b, "BINARY = %s\nINPUTS = [%s]\nOUTPUT = %s\n", strconv.QuoteToASCII(filepath.Base(o.Binary)), strings.Join(quoted, ", "), strconv.QuoteToASCII(o.Output))
	b.WriteString("STEPS = [  # words of the child, number of reduces, whether cuts divide the keys\n")
	for i := range o.Chain {
		reduces, cuts := o.reduces(i)
		words := o.child(i, reduces, false, o.Inputs)
		for i, w := range words {
			words[i] = bytesLiteral(w)
		}
		fmt.Fprintf(&b, "    ([%s], %d, %s),\n", strings.Join(words, ", "), reduces, map[bool]string{false: "False", true: "True"}[cuts])
		p.jobs = append(p.jobs, o.Chain[i].Name)
	}
	p.driver = strings.Replace(driverText, "#PLAN\n", b.String()+"]\n\n", 1)
	args := []string{"--name", o.name()}
	if o.Queue != "" {
		args = append(args, "--queue", o.Queue)
	}
	for _, property := range o.Properties {
		args = append(args, "--conf", property)
	}
	p.Steps = []Step{{Job: p.jobs[0], Args: append(args, "--files", o.Binary, driverName)}}
	return p
}

// bytesLiteral returns a literal of Python for the bytes of a word.
func bytesLiteral(word string) string {
	var b strings.Builder
	b.WriteString(`b"`)
	for i := range len(word) {
		switch c := word[i]; {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}

// runSpark is Run for Spark. It reads the lines that the driver prints. A driver that runs on the
// cluster prints them there, so the report then has no counters.
func (p *Plan) runSpark(ctx context.Context, l Listener) (*report.Report, error) {
	begun := time.Now()
	r := &report.Report{Schema: 1, Kind: "submit", Policy: "spark", Slots: []report.Slot{}}
	for _, name := range p.jobs {
		r.Jobs = append(r.Jobs, report.JobReport{Name: name, State: "done"})
		if name != p.jobs[0] {
			r.Jobs[len(r.Jobs)-1].StepOf = p.jobs[0]
		}
	}
	err := p.submit(ctx, r.Jobs, l)
	r.MakespanSeconds = time.Since(begun).Seconds()
	for i := range r.Jobs {
		if r.Jobs[i].FinishS = r.MakespanSeconds; err != nil {
			r.Error = err.Error()
			r.Jobs[i].State, r.Jobs[i].Error = "failed", r.Error
		}
	}
	return r, err
}

// submit runs spark-submit and fills in the counters of the jobs. If ctx ends, it ends spark-submit, which
// ends the application, unless its driver runs on the cluster.
func (p *Plan) submit(ctx context.Context, jobs []report.JobReport, l Listener) error {
	dir, err := os.MkdirTemp("", "mrlocal-submit-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	driver := filepath.Join(dir, driverName)
	if err := os.WriteFile(driver, []byte(p.driver), 0o666); err != nil {
		return err
	}
	args := p.Steps[0].Args
	c := exec.CommandContext(ctx, p.command, append(args[:len(args)-1:len(args)-1], driver)...)
	c.Cancel = func() error {
		_ = os.RemoveAll(dir) // Python has read the driver, and this process may end before spark-submit
		if c.Process.Signal(syscall.SIGTERM) != nil {
			return c.Process.Kill() // this system has no signals
		}
		return nil
	}
	printed, err := start(c, "Options.Submit")
	if err != nil {
		return err
	}
	defer printed.Close()
	var failure, reason, last string
	eachLine(printed, func(line string) {
		word, rest, _ := strings.Cut(strings.TrimPrefix(line, "mrlocal: "), ": ")
		switch own := strings.HasPrefix(line, "mrlocal: "); {
		case own && word == "note":
			l.Note(rest)
		case own && word == "error":
			failure = rest
		case own && word == "counter":
			var job int
			var name string
			var n int64
			if _, err := fmt.Sscan(rest, &job, &name, &n); err == nil && job < len(jobs) {
				(&watcher{job: &jobs[job], group: stream.CounterGroup}).count(name, n)
			}
		case reason == "" && (strings.HasPrefix(line, "Error: ") || strings.HasPrefix(line, "Exception in thread ")):
			reason = line
		case line != "":
			last = line
		}
	})
	err = c.Wait()
	switch code := c.ProcessState.ExitCode(); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		cause := errors.New(errs.OneLine(cmp.Or(failure, reason, last, err.Error())))
		if code == exitUsage && failure != "" {
			return &errs.Error{Kind: errs.BadInput, Object: "spark", Cause: cause}
		}
		return &errs.Error{Kind: errs.JobFailed, Object: p.jobs[0], Cause: fmt.Errorf("spark-submit ended with %d: %w", code, cause)}
	}
	return nil
}
