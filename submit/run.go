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
func Jar(hadoop string) (string, error) {
	path, err := exec.LookPath(hadoop)
	if err != nil {
		return "", errs.Optionf("--hadoop", "%s: no such command; give the path of bin/hadoop", hadoop)
	}
	homes := []string{filepath.Dir(filepath.Dir(path))}
	// A link in the search path may lead to the installation.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		homes = append(homes, filepath.Dir(filepath.Dir(real)))
	}
	for _, home := range homes {
		found, _ := filepath.Glob(filepath.Join(home, "share", "hadoop", "tools", "lib", "hadoop-streaming-*.jar"))
		for _, jar := range found {
			if !strings.Contains(filepath.Base(jar), "sources") {
				return jar, nil
			}
		}
	}
	return "", errs.Optionf("--hadoop", "%s: no share/hadoop/tools/lib/hadoop-streaming-*.jar beside it; give --streaming-jar", hadoop)
}

// WebAddress asks hadoop for the web address of the NameNode of its cluster.
func WebAddress(ctx context.Context, hadoop string) (string, error) {
	out, err := exec.CommandContext(ctx, hadoop, "org.apache.hadoop.hdfs.tools.GetConf", "-confKey", "dfs.namenode.http-address").Output()
	address := strings.TrimSpace(string(out))
	if err != nil || address == "" || strings.ContainsAny(address, " \n") {
		return "", errors.New("hadoop does not tell dfs.namenode.http-address; give --webhdfs HOST:PORT")
	}
	return address, nil
}

// Listener gets the progress of the jobs and remarks, from the goroutine of Run. Both functions
// are required.
type Listener struct {
	Progress func(job string, mapPercent, reducePercent int)
	Note     func(string)
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
	err = errors.Join(err, p.clean(ctx, err == nil))
	r.MakespanSeconds = time.Since(begun).Seconds()
	if err != nil {
		r.Error = err.Error()
	}
	return r, err
}

// clean removes what lies between the jobs of a chain. After a failure nobody waits for it.
func (p *Plan) clean(ctx context.Context, wait bool) error {
	for _, dir := range p.between {
		c := exec.Command(p.hadoop, removal(dir)...)
		detach(c)
		switch {
		case !wait:
			_ = c.Start() // the first error is the one to tell
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
	c.Stdout, c.Stderr = write, write
	err = c.Start()
	// The child has its own copy. With ours open the read would never end.
	write.Close()
	if err != nil {
		return errs.Optionf("--hadoop", "%s: %w", p.hadoop, errs.Cause(err))
	}
	w := watcher{job: job, l: l}
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
