package submit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"mrlocal/errs"
	"mrlocal/report"
)

// Jar finds the jar of Hadoop Streaming of the installation that the command hadoop belongs to.
// hadoop is a path, or a name in the search path. The command is expected in HOME/bin, the jar in
// HOME/share/hadoop/tools/lib. The error is of kind errs.BadOptions.
func Jar(hadoop string) (string, error) {
	path, err := exec.LookPath(hadoop)
	if err != nil {
		return "", errs.Optionf("Options.Hadoop", "%s: no such command; give the path of bin/hadoop", hadoop)
	}
	homes := []string{filepath.Dir(filepath.Dir(path))}
	// A link in the search path may lead to the installation.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		homes = append(homes, filepath.Dir(filepath.Dir(real)))
	}
	for _, home := range homes {
		// Glob fails only for a bad pattern; a home with such a name counts as one without a jar.
		found, _ := filepath.Glob(filepath.Join(home, "share", "hadoop", "tools", "lib", "hadoop-streaming-*.jar"))
		for _, jar := range found {
			// A distribution may have a jar with the sources beside that with the classes.
			if !strings.Contains(filepath.Base(jar), "sources") {
				return jar, nil
			}
		}
	}
	return "", errs.Optionf("Options.Hadoop", "%s: no share/hadoop/tools/lib/hadoop-streaming-*.jar beside it; give Options.Jar", hadoop)
}

// WebAddress asks hadoop for the web address of the NameNode of its cluster, as HOST:PORT. It
// starts a Java program, which ends with ctx.
func WebAddress(ctx context.Context, hadoop string) (string, error) {
	out, err := exec.CommandContext(ctx, hadoop, "org.apache.hadoop.hdfs.tools.GetConf", "-confKey", "dfs.namenode.http-address").Output()
	address := strings.TrimSpace(string(out))
	if err != nil || address == "" || strings.ContainsAny(address, " \n") {
		return "", errors.New("hadoop does not name dfs.namenode.http-address")
	}
	return address, nil
}

// Listener gets the progress of the jobs and remarks. Both functions are required.
type Listener struct {
	// Progress gets each change of the percentages, 0 to 100, on the goroutine of Run.
	Progress func(job string, mapPercent, reducePercent int)
	// Note gets a remark of one line. Once the context of Run has ended, another goroutine may
	// call Note at the same time as Run.
	Note func(string)
}

// Run runs the commands of the plan. Its report has a job for each step that began. It ends with
// ctx: the job on the cluster is killed then.
//
// The error of a job that Hadoop has refused is of kind errs.BadInput.
func (p *Plan) Run(ctx context.Context, l Listener) (*report.Report, error) {
	begun := time.Now()
	r := &report.Report{Schema: 1, Kind: "submit", Policy: "yarn", Slots: []report.Slot{}}
	var err error
	for i := range p.Steps {
		job := report.JobReport{Name: p.Steps[i].Job, SubmitS: time.Since(begun).Seconds()}
		job.StartS = job.SubmitS
		// A later job of the chain is shown as a step of the first.
		if i > 0 {
			job.StepOf = p.Steps[0].Job
		}
		err = p.run(ctx, &p.Steps[i], &job, begun, l)
		job.FinishS = time.Since(begun).Seconds()
		// A failed job is in the report too, with its error.
		if job.State = "done"; err != nil {
			job.State, job.Error = "failed", err.Error()
		}
		r.Jobs = append(r.Jobs, job)
		if err != nil {
			break
		}
	}
	// The directories go after a failure too: the next try must not find them.
	err = errors.Join(err, p.clean(ctx, err == nil))
	r.MakespanSeconds = time.Since(begun).Seconds()
	if err != nil {
		r.Error = err.Error()
	}
	return r, err
}

// clean removes what lies between the jobs of a chain. With wait it returns when Hadoop has
// removed each directory, or with the first error. Without wait, after a failure, it starts the
// removals and returns nil; the commands may outlive this process.
func (p *Plan) clean(ctx context.Context, wait bool) error {
	for _, dir := range p.between {
		c := exec.Command(p.hadoop, removal(dir)...)
		detach(c)
		switch {
		case !wait:
			_ = c.Start() // the error of the job is the one to report
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			if out, err := c.CombinedOutput(); err != nil {
				return fmt.Errorf("remove %s: %w: %s", dir, err, lastLine(string(out)))
			}
		}
	}
	return nil
}

// lastLine returns the last line of what a command has printed, which usually has the cause.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// run runs one job and reads what Hadoop prints until it ends. It fills in job. If ctx ends, it
// kills the job on the cluster, which would go on without the command.
func (p *Plan) run(ctx context.Context, s *Step, job *report.JobReport, begun time.Time, l Listener) error {
	c := exec.Command(p.hadoop, s.Args...)
	detach(c) // a Ctrl-C reaches it through here, behind the kill of the job
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	// One pipe for both, so that lines keep their order.
	c.Stdout, c.Stderr = write, write
	err = c.Start()
	// The child has its own copy. With ours open the read would never end.
	write.Close()
	if err != nil {
		return errs.Optionf("Options.Hadoop", "%s: %w", p.hadoop, errs.Cause(err))
	}
	w := watcher{job: job, l: l}
	// This function runs on a goroutine of its own, so it reads the ID under the lock of the
	// watcher. Without an ID the cluster has no job yet, and to end the command is enough.
	stop := context.AfterFunc(ctx, func() {
		if id := w.jobID(); id != "" {
			l.Note("killing " + id)
			k := exec.Command(p.hadoop, "org.apache.hadoop.mapred.JobClient", "-kill", id)
			detach(k)
			_ = k.Start() // it goes on when this process has ended
		}
		_ = c.Process.Kill()
	})
	defer stop()
	w.read(read, begun)
	// Only after the pipe is at its end: every line has then been read.
	err = c.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return w.failure(err, c.ProcessState.ExitCode())
	// Hadoop may end with code 0 and nothing done.
	case !w.counted:
		return fmt.Errorf("%s: hadoop ended without counters, so that nobody knows whether the job ran", s.Job)
	}
	return nil
}

// read gives the watcher what Hadoop prints, line by line. A last line without a newline counts.
func (w *watcher) read(in io.Reader, begun time.Time) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		w.line(strings.TrimRight(line, "\r\n"), begun)
		if err != nil {
			return
		}
	}
}
