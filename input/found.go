package input

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"syscall"

	"mrlocal/input/codec"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/paths"
	"mrlocal/jobs"
)

// Search is a sequence of files that are found one by one.
type Search struct {
	// Paths yields regular files, FIFOs, devices or "-", in order. The feeder of the run calls it
	// on its goroutine.
	Paths iter.Seq[string]
	// Missing is called, on any goroutine, for each path that cannot be read. The run leaves
	// such a file out. If a file changes or vanishes while it is read, or its compressed data is
	// damaged, the run uses the records before that place.
	Missing func(path string, cause error)
	// Except, if not nil, is a file that is left out: the one to which the result goes. Missing
	// gets ErrOutput for it.
	Except fs.FileInfo
}

// ErrOutput is the error of a file to which the output goes. The text is that of GNU grep.
var ErrOutput = errors.New("input file is also the output")

// Found yields plans of the files of a search, in order, so that maps read the first files while
// others are still being found. It takes the attributes of a file when the file is found. The
// first plans are small, so that all slots soon have work. The caller stops at an error.
func Found(s *Search, o Options) iter.Seq2[*Plan, error] {
	return func(yield func(*Plan, error) bool) {
		b := &batch{o: o.withDefaults(), most: leastBatchFiles, search: s}
		b.w = walker{o: b.o, euid: int32(os.Geteuid())}
		if s.Except != nil {
			b.except = identityOf(s.Except)
		}
		// One directory is open at a time: that of the last file. The next file mostly lies in it.
		defer b.dir.close()
		b.begin()
		for path := range s.Paths {
			if err := b.add(path); err != nil {
				s.Missing(path, err)
				continue
			}
			// The plan has too few files and bytes.
			if len(b.plan.Files) < b.most && b.bytes < min(max(b.leastBytes(), b.total/batchShare), mostBatchBytes) {
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
	dir  openDir
	// jobs.Block.File counts over all plans, so that its order is that of the files.
	first int   // number of files in the plans before
	most  int   // most files in this plan
	files int   // number of files in the plan before
	bytes int64 // cost of the files of this plan
	total int64 // cost of the files of the plans before

	search *Search
	except identity // of search.Except
}

// Bounds on a plan of Found. A plan of small files is mostly the work of one map. Large plans cost
// less for each file. Small plans come first, so that all slots begin soon. A plan has at most a
// share of the bytes of all plans before, so that the last maps end at about the same time.
const (
	leastBatchFiles = 8
	mostBatchFiles  = 1024    // the number of files doubles from plan to plan up to here
	leastBatchBytes = 4 << 20 // work of a few milliseconds; more with less than four slots
	mostBatchBytes  = 32 << 20
	batchShare      = 16 // a plan is full with 1/16 of the bytes of all plans before
	splitShare      = 8  // its shortest split has 1/8 of these bytes, divided by the slots
)

// leastBytes returns the least bytes of a plan and of its splits. With few slots, larger splits
// still end at about the same time, and each split costs a tenth of a millisecond.
func (b *batch) leastBytes() int64 {
	return max(leastBatchBytes, 4*leastBatchBytes/int64(b.o.MapSlots))
}

// begin begins the next plan.
func (b *batch) begin() {
	b.plan = &Plan{o: b.o, first: int32(b.first), missing: b.search.Missing}
	// Splits get longer as plans do.
	b.plan.leastBlock = max(b.leastBytes(), min(b.total/int64(splitShare*b.o.MapSlots), mostBatchBytes))
	// The plan before has a similar number of files. Without this room the slice would be copied
	// to new memory several times.
	b.plan.Files = make([]File, 0, min(b.most, max(leastBatchFiles, b.files*9/8)))
	b.w.plan = b.plan
	b.bytes = 0
}

// add adds the file at path. It fails if the file cannot be read, or is to be left out.
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
		// A device is read as a FIFO is: it has no size, and may be readable only once.
		st.mode = fs.ModeNamedPipe
	}
	if b.excepted(path, st) {
		return ErrOutput
	}
	if err := b.w.visit(path, st, true); err != nil {
		return errs.Cause(err)
	}
	// visit has added exactly one file, because directories were refused above.
	f := &b.plan.Files[len(b.plan.Files)-1]
	if f.kind.regular() && !f.mayRead {
		if err := disk.MayRead(path); err != nil {
			b.plan.Files = b.plan.Files[:len(b.plan.Files)-1]
			return errs.Cause(err)
		}
		f.mayRead = true
	}
	// Opening counts too, so that a plan of tiny files gets full.
	b.bytes += f.Bytes + fileCostBytes
	return nil
}

// Missed reports whether the run goes on without the rest of a file whose reading has failed with
// err. It goes on only in a plan of Found. The file must be damaged, not readable, or changed
// since it was planned. Missed has called Search.Missing then, once for each file. Other errors,
// such as one about memory, end the run.
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
	info, err := disk.Stat(path) // a system without inode numbers
	return err == nil && os.SameFile(info, b.search.Except)
}

// end divides the files of the plan into splits and returns the plan. begin has to follow.
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

// hdfsDevice is the device number in identities of files of HDFS. No local file has it.
const hdfsDevice = 1<<64 - 1

// remoteIdentity returns the identity of a file of HDFS.
func remoteIdentity(f hdfs.File) identity {
	return identity{dev: hdfsDevice, ino: f.ID, mtimeNanos: f.Modified.UnixNano()}
}

// remote adds the files of a path of HDFS that the user named.
func (w *walker) remote(path string) error {
	w.plan.hdfs = w.o.HDFS
	f, err := w.plan.hdfs.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && paths.HasWildcard(path):
		return errs.Inputf(shown(path), "no such file; globs are not expanded on HDFS: name the directory, or each file")
	case errors.Is(err, fs.ErrNotExist):
		return errs.Inputf(shown(path), "no such file or directory")
	case err != nil:
		return errs.Inputf(shown(path), "%w", err)
	case !f.Dir:
		w.visitRemote(path, f, true)
		return nil
	}
	files, hidden, err := w.plan.hdfs.Walk(path, w.o.All)
	if err != nil {
		return errs.Inputf(shown(path), "%w", err)
	}
	for _, f := range files {
		w.visitRemote(f.Name, f, false)
	}
	if w.hidden += hidden; len(files) == 0 {
		w.noFiles(path, hidden)
	}
	return nil
}

// visitRemote adds a file of HDFS. named reports whether the user named it.
func (w *walker) visitRemote(path string, f hdfs.File, named bool) {
	w.plan.Files = append(w.plan.Files, File{Path: path, Bytes: f.Bytes, id: remoteIdentity(f), Rereadable: true, mayRead: true, named: named, kind: inHDFS, blockBytes: f.BlockBytes})
}

// Sample calls fn with blocks of records from evenly spaced places of the input, at most places of
// them. It reads no streams. A block has about bytesEach bytes, at most a chunk. It is borrowed
// until fn returns. The same plan gives the same blocks.
//
// A place in the middle of a record longer than a chunk gives no block. Sample reads only the
// start of a compressed file. Sample fails with the first error of reading or of fn.
func (p *Plan) Sample(places, bytesEach int, mem Memory, fn func(jobs.Block) error) error {
	var total int64
	for i := range p.Splits {
		total += p.Splits[i].Bytes
	}
	if total == 0 || places <= 0 || bytesEach <= 0 {
		return nil
	}
	// Places are evenly spaced over the bytes of all files, so long files get more of them.
	step := max(total/int64(places), 1)
	s := sampler{plan: p, bytesEach: int64(bytesEach), fn: fn, r: Reader{plan: p, hold: hold{mem: mem}, decoders: p.decoders(mem)}}
	defer s.r.Close()
	// Both count the stored bytes of all pieces in order: at is the next place, and before is the
	// start of the current piece.
	var before, at int64
	for i := range p.Splits {
		for _, pc := range p.Splits[i].Pieces {
			length := pc.End - pc.Start
			for ; at < before+length; at += step {
				whole, err := s.place(pc, pc.Start+at-before)
				if err != nil {
					return err
				}
				if whole {
					// The other places of this piece are skipped. The loop adds the last step.
					at += (before + length - at - 1) / step * step
				}
			}
			before += length
		}
	}
	return nil
}

// sampler reads one place after the other, with one Reader.
type sampler struct {
	plan      *Plan
	bytesEach int64
	fn        func(jobs.Block) error
	r         Reader
}

// place passes a block to fn. It begins with the first record that starts at offset at of the file
// or later. whole reports that other places of the file give nothing new, because the file is
// compressed or binary.
func (s *sampler) place(pc Piece, at int64) (whole bool, err error) {
	f := &s.plan.Files[pc.File]
	s.r.file = pc.File
	s.r.pieces = nil
	defer func() {
		if s.r.src != nil {
			s.r.src.Close()
			s.r.src = nil
		}
		s.r.hold.free()
	}()
	h := &s.r.handle
	if err := s.plan.openPlanned(pc.File, h); err != nil {
		return false, err
	}
	found := f.Codec
	// The plan does not recognise a small compressed file. Such a file is one piece.
	if found == codec.None && pc.Start == 0 && pc.End == f.Bytes {
		if found, err = s.plan.headCodec(f, h); err != nil {
			return false, errors.Join(err, h.Close())
		}
	}
	if found != codec.None && !found.Refused() {
		if err := s.r.sequential(h); err != nil {
			return true, err
		}
		return true, s.first()
	}
	s.r.cut = newCut(s.plan, Piece{pc.File, at, min(at+chunkBytes, f.Bytes)}, h)
	c := &s.r.cut
	// seek is called below, because the end of the range depends on the record that it finds.
	c.probe, c.brief = false, true
	s.r.src = c
	if s.plan.o.SkipBinary {
		buf, err := s.r.hold.take(int(min(f.Bytes, binaryHeadBytes)))
		if err != nil {
			return false, err
		}
		if binary, err := s.plan.isBinary(pc.File, h, buf); binary || err != nil {
			return binary, err
		}
	}
	if err := c.seek(&s.r.hold); err != nil {
		return false, err
	}
	// bytesEach counts from the first record.
	c.end = min(c.off+s.bytesEach, c.end)
	return false, s.first()
}

// first passes the first block of the source to fn, if there is one.
func (s *sampler) first() error {
	b, err := s.r.src.next(&s.r.hold)
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return err
	}
	return s.fn(jobs.Block{Path: s.plan.Files[s.r.file].Path, File: s.r.file, Input: s.plan.Files[s.r.file].input, Offset: b.off, Data: b.data, Last: b.last})
}
