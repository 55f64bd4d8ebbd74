package output

import (
	"errors"
	"fmt"
	"io/fs"

	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/paths"
)

// remotePlace is a directory of part files on HDFS.
type remotePlace struct {
	*hdfs.Result
	name, suffix string           // name as the user gave it; suffix of part files
	merged       *hdfs.ResultPart // the single file of parts in order; nil: each attempt has a file
}

// openRemote checks Spec.Dir, a name on HDFS, and returns its place. It creates nothing.
func openRemote(spec Spec) (place, error) {
	if spec.Overwrite {
		return nil, wrong(spec.Dir, "a directory on HDFS is not replaced; remove it, or give another name")
	}
	d := &remotePlace{Result: hdfs.NewResult(spec.Dir, spec.Kept, spec.HDFS), name: spec.Dir, suffix: spec.Compress.Suffix()}
	for _, in := range spec.Inputs {
		if d.Inside(in) {
			return nil, wrong(spec.Dir, "lies inside the input %s; give a name outside", quoteName(in))
		}
	}
	return d, d.worded(d.Free())
}

// worded translates an error of package hdfs. An error about the name of the result becomes an
// options error.
func (d *remotePlace) worded(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, hdfs.ErrAborted):
		return ErrAborted
	case errors.Is(err, hdfs.ErrLost):
		return ErrLost
	case errors.Is(err, hdfs.ErrTaken):
		return errTaken(d.name)
	case errors.Is(err, fs.ErrExist):
		return wrong(d.name, "exists already; give another name")
	}
	return wrong(d.name, "%w", err)
}

func (d *remotePlace) start() error { return d.worded(d.Start()) }

func (d *remotePlace) attempt(task, n int, mapOnly bool) (partWriter, error) {
	p, err := d.begin(task, n, mapOnly)
	return remotePart{p, d}, err
}

func (d *remotePlace) begin(task, n int, mapOnly bool) (*hdfs.ResultPart, error) {
	kind := paths.KindLetter(mapOnly)
	p, err := d.Attempt(kind, task, n, fmt.Sprintf("part-%s-%05d%s", kind, task, d.suffix))
	return p, d.failed(err)
}

// sink makes a single part file, for parts that come in order.
func (d *remotePlace) sink(mapOnly bool) (s *sink, err error) {
	d.merged, err = d.begin(0, 0, mapOnly)
	return &sink{w: d.merged}, err
}

func (d *remotePlace) sync() error {
	if d.merged == nil {
		return nil
	}
	return d.failed(d.merged.Commit())
}

func (d *remotePlace) publish(parts int) error {
	if d.merged != nil {
		parts = 1
	}
	return d.failed(d.Publish(parts))
}

func (d *remotePlace) settle() error { return nil } // the NameNode has logged each step
func (d *remotePlace) abort() error  { return d.failed(d.Abort()) }

// failed translates an error after the start of the run. It is not an options error.
func (d *remotePlace) failed(err error) error {
	if err := d.worded(err); err == nil || !errs.IsUsage(err) {
		return err
	}
	return named(d.name, err)
}

// remotePart is an hdfs.ResultPart as a partWriter.
type remotePart struct {
	*hdfs.ResultPart
	place *remotePlace
}

func (p remotePart) write(data []byte) error {
	_, err := p.Write(data)
	return p.place.failed(err)
}

func (p remotePart) commit(int64) error { return p.place.failed(p.Commit()) }
func (p remotePart) abort()             { p.Abort() }
