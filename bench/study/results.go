package study

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/slots/report"
)

// Results is the file of --results: CSV with a row for each job of each run. A row has the key of the
// sweep, the swept values, the policy, the seed, the figures of the run and those of the job. A run is
// appended when it and all runs before it have ended, so an interrupted sweep can go on where the file
// ends. A nil *Results has no runs and keeps none.
type Results struct {
	path string
	key  string // the key of the sweep (Files.Key), which each row has
	jobs int    // the number of jobs, and so of rows, of each run
	f    *os.File
	had  map[string][]float64 // the figures of the runs that the file had, by identity
}

// OpenResults opens the file of that path to go on with, or creates it. key is that of Files.Key, and
// jobs is the number of jobs of each run. It reads the whole runs of the file, and cuts off the
// rest, which an interrupted run has left. It writes the header into an empty file. It fails with
// an options error if the file is that of another sweep, and then leaves it as it is. The caller
// closes the result.
func (p *Plan) OpenResults(path, key string, jobs int) (*Results, error) {
	r := &Results{path: path, key: key, jobs: jobs, had: map[string][]float64{}}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text = nil
	case err != nil:
		return nil, errs.Optionf("--results", "%s: %v", path, errs.Cause(err))
	}
	// whole is the offset at which the next run must be appended.
	whole, err := p.readResults(r, text)
	if err != nil {
		return nil, errs.Optionf("--results", "%s: %v", errs.Quote(path), err)
	}
	if r.f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return nil, errs.Optionf("--results", "%s: %v", path, errs.Cause(err))
	}
	if err := r.f.Truncate(whole); err != nil {
		return nil, errors.Join(err, r.f.Close())
	}
	_, err = r.f.Seek(whole, io.SeekStart)
	if err == nil && whole == 0 {
		_, err = r.f.WriteString(strings.Join(p.header(), ",") + "\n")
	}
	return r, err
}

// header returns the names of the columns: those of the run, then those of the job. The column
// study has the key.
func (p *Plan) header() []string {
	names := []string{"study"}
	for i := range p.dimensions {
		names = append(names, p.dimensions[i].flag)
	}
	names = append(names, "policy", "seed")
	for _, m := range report.Metrics() {
		names = append(names, m.Name)
	}
	return append(names, "job", "pool", "user", "state", "maps", "reduces", "submit_s", "start_s", "maps_done_s", "finish_s", "response_s", "deadline_s", "tardiness_s", "alone_s", "data_local_maps", "killed_maps", "killed_reduces", "slot_s")
}

// identity returns the first words of each row of a run: the key, the swept values, the policy and the
// seed. They tell runs apart.
func (p *Plan) identity(t *Trial, key string) []string {
	words := []string{key}
	for i := range p.dimensions {
		d := &p.dimensions[i]
		words = append(words, d.word(*d.at(&t.Configuration)))
	}
	return append(words, t.Policy, strconv.FormatUint(t.Seed, 10))
}

// readResults reads the runs of a file whose rows are all there, into r.had. It returns the offset in
// bytes at which the last of them ends. It fails if the file is that of another sweep.
func (p *Plan) readResults(r *Results, text []byte) (whole int64, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return 0, nil
	}
	c := csv.NewReader(bytes.NewReader(text))
	c.FieldsPerRecord = -1
	head, err := c.Read()
	if err != nil || !slices.Equal(head, p.header()) {
		return 0, errors.New("not the results of such a sweep: its columns differ; name another file")
	}
	whole = c.InputOffset()
	// words is the number of words of an identity: the key, the swept values, the policy and the seed.
	// rows counts the rows of the run whose identity is last. lastFigures are those of its first row.
	words := len(p.dimensions) + 3
	var rows int
	var last, lastFigures string
	for {
		row, err := c.Read()
		// The last line may be cut off anywhere, even so that its fields look whole. Only a newline
		// proves that the line is whole.
		if err != nil || len(row) != len(head) || text[c.InputOffset()-1] != '\n' {
			return whole, nil
		}
		if row[0] != r.key {
			return 0, errors.New("the results of another workload, or of other flags; name another file")
		}
		line, _ := c.FieldPos(0)
		identity, figures := strings.Join(row[:words], "\x00"), strings.Join(row[words:words+len(report.Metrics())], ",")
		switch {
		case identity != last && rows > 0 && rows < r.jobs:
			return 0, fmt.Errorf("line %d: the run before it has %d of its %d rows; name another file", line, rows, r.jobs)
		case identity != last:
			rows, last, lastFigures = 0, identity, figures
		case figures != lastFigures:
			return 0, fmt.Errorf("line %d: the figures of its run differ from those in the line before; name another file", line)
		}
		if rows++; rows == r.jobs {
			sample := make([]float64, len(report.Metrics()))
			for i := range sample {
				if row[words+i] == "" && i == metricAt("mean_job_s") {
					sample[i] = math.NaN()
					continue
				}
				if sample[i], err = strconv.ParseFloat(row[words+i], 64); err != nil || math.IsNaN(sample[i]) || math.IsInf(sample[i], 0) {
					return 0, fmt.Errorf("line %d: %q is not a number; name another file", line, row[words+i])
				}
			}
			r.had[identity] = sample
			whole = c.InputOffset()
		}
	}
}

// sample returns the figures of run t if the file had this run, else nil. Their order is that of
// report.Metrics.
func (r *Results) sample(p *Plan, t Trial) []float64 {
	if r == nil {
		return nil
	}
	return r.had[strings.Join(p.identity(&t, r.key), "\x00")]
}

// add appends the rows of run t, whose report is run. It writes them with one call, so that a kill
// leaves a part of one run at most.
func (r *Results) add(p *Plan, t Trial, run *report.Report) error {
	if r == nil {
		return nil
	}
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	// All rows of the run begin with its identity and its figures. The figures of a job follow.
	head := p.identity(&t, r.key)
	for _, x := range sampleOf(run) {
		head = append(head, exact(x))
	}
	for i := range run.Jobs {
		j := &run.Jobs[i]
		deadline := ""
		if j.DeadlineS != nil {
			deadline = number(*j.DeadlineS)
		}
		n := &j.Counters
		_ = c.Write(append(slices.Clone(head), j.Name, j.Pool, j.User, j.State, strconv.Itoa(j.Maps), strconv.Itoa(j.Reduces),
			number(j.SubmitS), number(j.StartS), number(j.MapsDoneS), number(j.FinishS), number(j.ResponseSeconds()), deadline, number(j.TardinessSeconds()), number(j.AloneSeconds),
			strconv.FormatInt(n.DataLocalMaps, 10), strconv.FormatInt(n.KilledMaps, 10), strconv.FormatInt(n.KilledReduces, 10), number(float64(n.SlotsMillisMaps+n.SlotsMillisReduces)/1000)))
	}
	c.Flush() // into memory, as Write above, so neither can fail
	if _, err := r.f.Write(b.Bytes()); err != nil {
		return fmt.Errorf("results %s: %w", errs.Quote(r.path), errs.Cause(err))
	}
	return nil
}

// Close closes the file. It returns nil for a nil *Results.
func (r *Results) Close() error {
	if r == nil {
		return nil
	}
	return r.f.Close()
}

// exact formats x with the fewest digits from which ParseFloat gets exactly x again. It returns "" for
// NaN.
func exact(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
