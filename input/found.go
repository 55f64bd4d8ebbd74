package input

import (
	"errors"
	"io/fs"
	"iter"
	"math"
	"os"
	"syscall"

	"mrlocal/errs"
	"mrlocal/input/codec"
	"mrlocal/internal/disk"
)

// Search is where files come from that are found one by one.
type Search struct {
	// Paths yields regular files, FIFOs, devices or "-", in order, on a goroutine of the run.
	Paths iter.Seq[string]
	// Missing is called, on any goroutine, for each path that cannot be read. Such a file is
	// left out. If it changes or vanishes while it is read, or its compressed data is damaged, it
	// ends there.
	Missing func(path string, cause error)
	// Except is a file that is left out: the one that the result goes to. Missing gets
	// ErrOutput for it. It may be nil.
	Except fs.FileInfo
}

// ErrOutput is the error of a file that the output goes to. GNU grep words it so.
var ErrOutput = errors.New("input file is also the output")

// Found yields plans of the files of a search, in order, so that reading may begin while the
// caller still searches for others. The attributes of a file are taken when it is found. The
// first plans are small, so that all slots have work soon. An error ends the sequence.
func Found(s *Search, o Options) iter.Seq2[*Plan, error] {
	return func(yield func(*Plan, error) bool) {
		b := &batch{o: o.withDefaults(), most: leastBatchFiles, search: s}
		b.w = walker{o: b.o, euid: int32(os.Geteuid())}
		if s.Except != nil {
			b.except = identityOf(s.Except)
		}
		// The directory of the last file stays open, because the next file mostly lies in it.
		// It is one descriptor, whatever the number of directories.
		defer b.dir.close()
		b.begin()
		for path := range s.Paths {
			if err := b.add(path); err != nil {
				s.Missing(path, err)
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
	files int // in the plan before
	bytes int64
	total int64 // bytes of the plans before

	search *Search
	except identity // of search.Except
}

// Each plan is the work of one map. Large plans cost less. Small plans come first, so that all
// slots begin soon. A plan is at most a part of what came before, so that the plans end
// together.
const (
	leastBatchFiles = 8
	mostBatchFiles  = 1024    // doubled from plan to plan up to here
	leastBatchBytes = 4 << 20 // work of a few milliseconds; more with less than four slots
	mostBatchBytes  = 32 << 20
	batchShare      = 16
	splitShare      = 8 // for each slot, so that the last splits are a small part of its work
)

// leastBytes returns the least work of a plan and of its splits. Where few slots share it, larger
// splits still end together, and each split costs a tenth of a millisecond.
func (b *batch) leastBytes() int64 {
	return max(leastBatchBytes, 4*leastBatchBytes/int64(b.o.MapSlots))
}

// begin begins the next plan.
func (b *batch) begin() {
	b.plan = &Plan{o: b.o, first: int32(b.first), missing: b.search.Missing}
	// Splits grow with the input, as plans do.
	b.plan.leastBlock = max(b.leastBytes(), min(b.total/int64(splitShare*b.o.MapSlots), mostBatchBytes))
	// A slice that grows is copied again and again, to memory that is touched for the first time.
	b.plan.Files = make([]File, 0, min(b.most, max(leastBatchFiles, b.files*9/8)))
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
	if b.excepted(path, st) {
		return ErrOutput
	}
	if err := b.w.take(path, st, true); err != nil {
		return errs.Cause(err)
	}
	// take has added exactly one file, because directories were refused above.
	f := &b.plan.Files[len(b.plan.Files)-1]
	if f.kind.regular() && !f.mayRead {
		if err := disk.MayRead(path); err != nil {
			b.plan.Files = b.plan.Files[:len(b.plan.Files)-1]
			return errs.Cause(err)
		}
		f.mayRead = true
	}
	// Opening a file counts as reading some bytes, so that plans of small files end too.
	b.bytes += f.Bytes + fileCostBytes
	return nil
}

// Missed reports whether err says that a file of a plan of Found cannot be read, or has changed
// since it was planned. missing was called then, and the reader goes on with the next file.
// Other errors, such as one about memory, end the run.
func (p *Plan) Missed(file int32, err error) bool {
	if p.missing == nil {
		return false
	}
	cause := ErrChanged
	var number syscall.Errno
	var damaged *codec.FileError
	switch {
	case errors.Is(err, ErrChanged):
	case errors.As(err, &number):
		cause = number
	case errors.As(err, &damaged):
		cause = damaged
	default:
		return false
	}
	if _, again := p.reported.LoadOrStore(file, true); !again {
		p.missing(p.Files[file].Path, cause)
	}
	return true
}

// excepted reports whether a file is the one to leave out.
func (b *batch) excepted(path string, st stat) bool {
	if b.search.Except == nil || b.except.ino != 0 {
		return b.except.same(st.id)
	}
	info, err := os.Stat(path) // a system without inode numbers
	return err == nil && os.SameFile(info, b.search.Except)
}

// full reports whether the plan has enough work.
func (b *batch) full() bool {
	return len(b.plan.Files) >= b.most || b.bytes >= min(max(b.leastBytes(), b.total/batchShare), mostBatchBytes)
}

// end divides the files of the plan into splits.
func (b *batch) end() (*Plan, error) {
	p := b.plan
	b.files = len(p.Files)
	b.first += b.files
	b.total += b.bytes
	if b.first > math.MaxInt32 {
		return nil, errs.Inputf("", "%d input files are too many", b.first)
	}
	b.most = min(2*b.most, mostBatchFiles)
	return p, p.split()
}
