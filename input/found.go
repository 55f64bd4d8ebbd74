package input

import (
	"errors"
	"io/fs"
	"iter"
	"math"
	"os"
	"syscall"

	"mrlocal/errs"
)

// Found yields plans of files that are found one by one, in order, so that reading
// may begin while the caller still searches for others. Each path is a regular file,
// a FIFO, a device or "-". The attributes of a file are taken when it is found.
//
// missing is called for each path that cannot be read, which is left out. Of a file that
// changes or vanishes afterwards, a reader calls missing too, on its goroutine. The first
// plans are small, so that all slots have work soon. An error ends the sequence.
func Found(paths iter.Seq[string], o Options, missing func(path string, cause error)) iter.Seq2[*Plan, error] {
	return func(yield func(*Plan, error) bool) {
		b := &batch{o: o.withDefaults(), most: leastBatchFiles, missing: missing}
		b.w = walker{o: b.o, euid: int32(os.Geteuid())}
		// The directory of the last file stays open, because the next file mostly lies in it.
		// It is one descriptor, whatever the number of directories.
		defer b.dir.close()
		b.begin()
		for path := range paths {
			if err := b.add(path); err != nil {
				missing(path, err)
				continue
			}
			if !b.full() {
				continue
			}
			if !yield(b.end()) {
				return
			}
			b.begin()
		}
		// The last plan may be small.
		if len(b.plan.Files) > 0 {
			yield(b.end())
		}
	}
}

// batch collects the files of one plan.
type batch struct {
	o    Options
	w    walker
	plan *Plan
	dir  nearStat
	// Block.File counts over all plans, so that the order of files is the order of numbers.
	first int // number of files in the plans before
	most  int // files in this plan
	bytes int64

	missing func(path string, cause error)
}

const (
	leastBatchFiles = 8
	mostBatchFiles  = 512     // doubled from plan to plan up to here
	batchBytes      = 4 << 20 // work of a few milliseconds
)

// begin begins the next plan.
func (b *batch) begin() {
	b.plan = &Plan{o: b.o, first: int32(b.first), missing: b.missing}
	b.w.plan = b.plan
	b.bytes = 0
}

// add adds a file. It fails if the file cannot be read.
func (b *batch) add(path string) error {
	if path == "-" {
		return b.w.stdin()
	}
	st, err := b.dir.stat(path)
	switch {
	case err != nil:
		return errs.Cause(err)
	case st.mode.IsDir():
		return errors.New("is a directory")
	case st.mode&fs.ModeDevice != 0:
		// A device is read as a FIFO is.
		// It has no size, and may be read only once.
		st.mode = fs.ModeNamedPipe
	}
	if err := b.w.take(path, st, true); err != nil {
		return errs.Cause(err)
	}
	// take has added exactly one file, because directories were refused above.
	f := &b.plan.Files[len(b.plan.Files)-1]
	if f.kind.regular() && !f.mayRead {
		if err := readable(path); err != nil {
			b.plan.Files = b.plan.Files[:len(b.plan.Files)-1]
			return errs.Cause(err)
		}
		f.mayRead = true
	}
	// Opening a file counts as reading some bytes, so that plans of small files end too.
	b.bytes += f.Bytes + fileCostBytes
	return nil
}

// Missed reports whether the plan is one of Found and err says that a file cannot be read, or
// is not the planned one any more. missing was told then, and the reader goes on with the next
// file. Other errors, such as one about memory or about compressed data, end the run.
func (p *Plan) Missed(file int32, err error) bool {
	if p.missing == nil {
		return false
	}
	var cause error
	var number syscall.Errno
	switch {
	case errors.Is(err, ErrChanged):
		cause = ErrChanged
	case errors.As(err, &number):
		cause = number
	default:
		return false
	}
	if _, again := p.told.LoadOrStore(file, true); !again {
		p.missing(p.Files[file].Path, cause)
	}
	return true
}

// full reports whether the plan has enough work.
func (b *batch) full() bool { return len(b.plan.Files) >= b.most || b.bytes >= batchBytes }

// end divides the files of the plan into splits.
func (b *batch) end() (*Plan, error) {
	p := b.plan
	b.first += len(p.Files)
	if b.first > math.MaxInt32 {
		return nil, errs.Inputf("", "%d input files are too many", b.first)
	}
	b.most = min(2*b.most, mostBatchFiles)
	return p, p.split()
}
