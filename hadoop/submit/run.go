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

	"mrlocal/internal/errs"
	"mrlocal/slots/report"
)

// Jar returns the path of the jar of Hadoop Streaming in the installation of the command hadoop.
// hadoop is a path, or a name in the search path. If the command is HOME/bin/hadoop, Jar looks in
// HOME/share/hadoop/tools/lib. The error is of kind errs.BadOptions.
func Jar(hadoop string) (string, error) {
	path, err := exec.LookPath(hadoop)
	if err != nil {
		return "", errs.Fieldf("Options.Hadoop", "%s: no such command; give the path of bin/hadoop", hadoop)
	}
	homes := []string{filepath.Dir(filepath.Dir(path))}
	// The command may be a link to that of the installation.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		homes = append(homes, filepath.Dir(filepath.Dir(real)))
	}
	for _, home := range homes {
		// Glob fails only if the name of home makes the pattern invalid. Such a home counts as one
		// without a jar.
		found, _ := filepath.Glob(filepath.Join(home, "share", "hadoop", "tools", "lib", "hadoop-streaming-*.jar"))
		for _, jar := range found {
			// A distribution may also have a jar with the source files.
			if !strings.Contains(filepath.Base(jar), "sources") {
				return jar, nil
			}
		}
	}
	return "", errs.Fieldf("Options.Hadoop", "%s: no share/hadoop/tools/lib/hadoop-streaming-*.jar next to it; give %s", hadoop, errs.Field("Options.Jar"))
}

// WebAddress returns the web address of the NameNode of hadoop's cluster, as HOST:PORT. It starts
// hadoop, a Java program, which is killed when ctx ends.
func WebAddress(ctx context.Context, hadoop string) (string, error) {
	out, err := exec.CommandContext(ctx, hadoop, "org.apache.hadoop.hdfs.tools.GetConf", "-confKey", "dfs.namenode.http-address").Output()
	address := strings.TrimSpace(string(out))
	if err != nil || address == "" || strings.ContainsAny(address, " \n") {
		return "", errors.New("hadoop does not name dfs.namenode.http-address")
	}
	return address, nil
}

// Listener gets the progress of the jobs, and remarks. Both functions are required.
type Listener struct {
	// Progress gets each change of the percentages, 0 to 100, on the goroutine of Run.
	Progress func(job string, mapPercent, reducePercent int)
	// Note gets a remark of one line. When the context of Run ends, another goroutine may call
	// Note at the same time as that of Run.
	Note func(string)
}

// Run runs the commands of the plan, and returns when they have ended. Its report has a job for
// each step that began, also if it returns an error. When ctx ends, Run kills the job on the
// cluster and returns the cause.
//
// An error is of kind errs.BadInput if Hadoop refused a job, and of kind errs.JobFailed if a job
// failed.
func (p *Plan) Run(ctx context.Context, l Listener) (*report.Report, error) {
	if p.driver != "" {
		return p.runSpark(ctx, l)
	}
	begun := time.Now()
	// The cluster schedules, so the report names its scheduler. No policy of ours decides.
	r := &report.Report{Schema: 1, Kind: "submit", Policy: "yarn", Slots: []report.Slot{}}
	var err error
	for i := range p.Steps {
		job := report.JobReport{Name: p.Steps[i].Job, SubmitS: time.Since(begun).Seconds()}
		job.StartS = job.SubmitS
		// The report shows a later job of the chain as a step of the first.
		if i > 0 {
			job.StepOf = p.Steps[0].Job
		}
		err = p.run(ctx, &p.Steps[i], &job, begun, l)
		job.FinishS = time.Since(begun).Seconds()
		if job.State = "done"; err != nil {
			job.State, job.Error = "failed", err.Error()
		}
		r.Jobs = append(r.Jobs, job)
		if err != nil {
			break
		}
	}
	// The directories are removed after a failure too, because Hadoop refuses an output that exists.
	err = errors.Join(err, p.clean(ctx, err == nil))
	r.MakespanSeconds = time.Since(begun).Seconds()
	if err != nil {
		r.Error = err.Error()
	}
	return r, err
}

// clean removes the directories between the jobs of a chain. With wait it returns when Hadoop has
// removed them, or with the first error. Without wait, after a failure, it only starts the commands
// and returns nil. They may outlive this process.
func (p *Plan) clean(ctx context.Context, wait bool) error {
	for _, dir := range p.between {
		c := exec.Command(p.command, removal(dir)...)
		detach(c)
		switch {
		case !wait:
			_ = c.Start() // Run reports the error of the job instead
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

// lastLine returns the last line of a command's output, which usually has the cause of a failure.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// run runs one job, reads the text that Hadoop prints, and fills in job. begun is when Run began. If
// ctx ends, run kills the job on the cluster, which would go on without the command.
func (p *Plan) run(ctx context.Context, s *Step, job *report.JobReport, begun time.Time, l Listener) error {
	c := exec.Command(p.command, s.Args...)
	read, err := start(c, "Options.Hadoop")
	if err != nil {
		return err
	}
	defer read.Close()
	w := watcher{job: job, l: l}
	// This function runs on a goroutine of its own, so it reads the ID under a lock. As long as there
	// is not an ID, the cluster has no job, and it is enough to kill the command.
	stop := context.AfterFunc(ctx, func() {
		if id := w.jobID(); id != "" {
			l.Note("killing " + id)
			k := exec.Command(p.command, "org.apache.hadoop.mapred.JobClient", "-kill", id)
			detach(k)
			_ = k.Start() // the command may outlive this process
		}
		_ = c.Process.Kill()
	})
	defer stop()
	eachLine(read, func(line string) { w.line(line, begun) })
	err = c.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return w.failure(err, c.ProcessState.ExitCode())
	// Hadoop may end with exit code 0 without having run the job.
	case !w.counted:
		return fmt.Errorf("%s: hadoop ended without counters, so the job may not have run", s.Job)
	}
	return nil
}

// start starts a command and returns a pipe with all that it prints. object is the option to name in an
// error. Ctrl-C must end the command only after the job, so it gets no signals from the terminal.
func start(c *exec.Cmd, object string) (printed io.ReadCloser, err error) {
	detach(c)
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	// Both streams go to one pipe, so that their lines keep their order.
	c.Stdout, c.Stderr = write, write
	err = c.Start()
	// The command has a copy of this end. The pipe ends only when both are closed.
	write.Close()
	if err != nil {
		read.Close()
		return nil, errs.Fieldf(object, "%s: %w", c.Path, errs.Cause(err))
	}
	return read, nil
}

// eachLine calls do with each line of in, without its end, until in ends.
func eachLine(in io.Reader, do func(line string)) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		do(strings.TrimRight(line, "\r\n"))
		if err != nil {
			return
		}
	}
}
