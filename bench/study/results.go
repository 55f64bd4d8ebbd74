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
// sweep, the run as in Study.CSV, and the figures of the job. A run is appended when it and all runs
// before it have ended, so an interrupted sweep can go on where the file ends. A nil *Results has no runs
// and keeps none.
type Results struct {
	path string
	key  string // the key of the sweep (Files.Key), which each row has
	f    *os.File
	had  map[string][]float64 // the figures of the runs that the file had, by identity
}

// jobColumns are the columns of a job.
const jobColumns = "job,pool,user,state,maps,reduces,submit_s,start_s,maps_done_s,finish_s,response_s,deadline_s,tardiness_s,alone_s,data_local_maps,killed_maps,killed_reduces,slot_s"

// OpenResults opens the file of that path to go on with, or creates it. key is that of Files.Key, and
// jobs is the number of jobs of each run. It reads the whole runs of the file, and cuts off the
// rest, which an interrupted run has left. It writes the header into an empty file. It fails with
// an options error if the file is that of another sweep, and then leaves it as it is. The caller
// closes the result.
func (p *Plan) OpenResults(path, key string, jobs int) (*Results, error) {
	r := &Results{path: path, key: key, had: map[string][]float64{}}
	fail := func(err error) (*Results, error) {
		return nil, errs.Optionf("--results", "%s: %v", errs.Quote(path), errs.Cause(err))
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	// whole is the offset at which the next run must be appended.
	header := slices.Concat([]string{"study"}, p.header(), strings.Split(jobColumns, ","))
	whole, err := r.read(text, header, len(p.names)+3, jobs)
	if err != nil {
		return fail(fmt.Errorf("%w; name another file", err))
	}
	if r.f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return fail(err)
	}
	if err = r.f.Truncate(whole); err == nil {
		_, err = r.f.Seek(whole, io.SeekStart)
	}
	if err == nil && whole == 0 {
		_, err = r.f.Write(csvText([][]string{header}))
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// read reads the runs of a file whose rows are all there, into r.had. It returns the offset in bytes at
// which the last of them ends. Each run has the given number of jobs. The identity of a run has the first words of
// its rows, and its figures follow. It fails if the file is that of another sweep.
func (r *Results) read(text []byte, header []string, words, jobs int) (whole int64, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return 0, nil
	}
	c := csv.NewReader(bytes.NewReader(text))
	c.FieldsPerRecord = -1
	if head, err := c.Read(); err != nil || !slices.Equal(head, header) {
		return 0, errors.New("not the results of such a sweep: its columns differ")
	}
	whole = c.InputOffset()
	var last, lastFigures string // of the run whose rows are read
	for rows := 0; ; {
		row, err := c.Read()
		// The last line may be cut off anywhere, even so that its fields look whole. Only a newline
		// proves that the line is whole.
		if err != nil || len(row) != len(header) || text[c.InputOffset()-1] != '\n' {
			return whole, nil
		}
		if row[0] != r.key {
			return 0, errors.New("the results of another workload, or of other flags")
		}
		line, _ := c.FieldPos(0)
		all := row[words : words+len(report.Metrics())]
		identity, figures := strings.Join(row[1:words], "\x00"), strings.Join(all, ",")
		switch {
		case identity != last && rows > 0 && rows < jobs:
			return 0, fmt.Errorf("line %d: the run before it has %d of its %d rows", line, rows, jobs)
		case identity != last:
			rows, last, lastFigures = 0, identity, figures
		case figures != lastFigures:
			return 0, fmt.Errorf("line %d: the figures of its run differ from those in the line before", line)
		}
		if rows++; rows < jobs {
			continue
		}
		sample := make([]float64, len(all))
		for i, figure := range all {
			if sample[i] = math.NaN(); figure == "" && i == metricAt(meanJob) {
				continue
			}
			if sample[i], err = strconv.ParseFloat(figure, 64); err != nil || math.IsNaN(sample[i]) || math.IsInf(sample[i], 0) {
				return 0, fmt.Errorf("line %d: %q is not a number", line, figure)
			}
		}
		r.had[identity], whole = sample, c.InputOffset()
	}
}

// sample returns the figures of run t if the file had this run, else nil. Their order is that of
// report.Metrics.
func (r *Results) sample(t Trial) []float64 {
	if r == nil {
		return nil
	}
	return r.had[strings.Join(t.identity(), "\x00")]
}

// add appends the rows of a run of s, whose report is done. It writes them with one call, so that a kill
// leaves a part of one run at most.
func (r *Results) add(s *Study, run int, done *report.Report) error {
	if r == nil {
		return nil
	}
	var rows [][]string
	head := append([]string{r.key}, s.row(run)...)
	for i := range done.Jobs {
		j := &done.Jobs[i]
		deadline := ""
		if j.DeadlineS != nil {
			deadline = number(*j.DeadlineS)
		}
		n := &j.Counters
		rows = append(rows, append(slices.Clone(head), j.Name, j.Pool, j.User, j.State, strconv.Itoa(j.Maps), strconv.Itoa(j.Reduces),
			number(j.SubmitS), number(j.StartS), number(j.MapsDoneS), number(j.FinishS), number(j.ResponseSeconds()), deadline, number(j.TardinessSeconds()), number(j.AloneSeconds),
			strconv.FormatInt(n.DataLocalMaps, 10), strconv.FormatInt(n.KilledMaps, 10), strconv.FormatInt(n.KilledReduces, 10), number(float64(n.SlotsMillisMaps+n.SlotsMillisReduces)/1000)))
	}
	if _, err := r.f.Write(csvText(rows)); err != nil {
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
