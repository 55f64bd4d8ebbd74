// Package input finds the input files of a run, divides them into splits, and
// reads splits as blocks of whole records.
//
//	paths ──NewPlan──► Files ──► Splits ──Open──► Reader ──► Block, Block, …
//	                     └─────► Streams ──OpenStream──► Stream ──► Block, …
//
// NewPlan does all checks before any work starts. It finds every file, takes its size and
// identity, and makes sure that it can be read and decoded. It opens files for that, except
// small files of directories that have a usual suffix of text. An archive among those is
// refused when it is read. A plan of 100,000 files takes a few megabytes.
//
// A record belongs to the split in which its first byte lies (Hadoop 0.20,
// LineRecordReader). So each split finds its records without the others:
//
//	split     │          A          │          B          │
//	records   aaaa⏎bbbb⏎cccccccccccccccc⏎dddd⏎eeee⏎ffffffffff…
//	of A      aaaa⏎bbbb⏎cccccccccccccccc⏎
//	of B                                 dddd⏎eeee⏎ffffffffff…
//
// Files are read with pread. They are never mapped into memory, because a file
// that another process truncates would then kill this one.
//
// A file must have the bytes that it had when it was planned. If it ends earlier, has grown,
// was written to or was replaced, reading ends with ErrChanged. That holds even if its
// attributes have not changed, because on a network file system they may lag. There are two
// exceptions. A small file is read by one call, so that only a change of its length is
// noticed, unless the split is read again (docs/adr/0009). Sizes that mean nothing are
// ignored: 0 in /proc, one page in /sys.
//
// Compressed files are recognised by their first bytes (package input/codec). A
// small one is decoded by the map that reads it. A large one cannot be divided,
// so it is a Stream: one decoder reads it, and its blocks feed many maps. FIFOs
// and standard input are streams too, unless standard input is a regular file.
//
// Memory: a record takes these steps from its file to the kvbuffer.
//
//	file ──read or decode──► chunk ──Mapper.Map──► kvbuffer
//
// The bytes of a block lie in one chunk of the caller's Memory. The mapper works
// on them in place. The kvbuffer copies records, or takes the chunk over and
// refers to them. membudget.Loan says who owns the chunk. The reader lends the
// chunk with each block. It gets the chunk back at the next call of Next or Close,
// unless the borrower took it over. A record longer than a chunk gets a chunk of
// its own size. A reader holds no other memory of the caller between two calls.
package input

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"mrlocal/input/codec"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/membudget"
)

// Memory gives readers the memory of their blocks. Get returns a chunk of at
// least the given number of bytes; a standard chunk has membudget.ChunkBytes. The reader
// passes each chunk to Put, unless a borrower took it over.
type Memory interface {
	Get(bytes int) (*membudget.Chunk, error)
	Put(*membudget.Chunk)
}

// Charger is an optional ability of a Memory. A decoder charges for the window
// that it keeps on the Go heap, and calls release when it is closed. If a
// Memory is not a Charger, windows of more than 8 MiB are refused.
type Charger interface {
	Charge(bytes int64) (release func(), err error)
}

// Sparer is an optional ability of a Memory. Spare returns true if the given number of bytes are free. Several
// goroutines then decode a large compressed file ahead. They end before release is called. Spare
// never waits. It is called on the goroutine that reads the stream.
type Sparer interface {
	Spare(bytes int64) (release func(), ok bool)
}

// Options are the options by which files are found and divided. The zero value works.
type Options struct {
	// BlockBytes is the length of a split. 0: a length from 1 MiB to 64 MiB,
	// which gives SplitsPerSlot splits to each map slot.
	BlockBytes    int64
	MapSlots      int // default 1
	SplitsPerSlot int // default 4
	// Taper makes splits of small files smaller towards the end of the input,
	// so that all slots end at about the same time. It has no effect if
	// BlockBytes is set.
	Taper bool

	// All also takes files inside directories whose names start with . or _.
	All bool

	Delim byte // ends a record; default '\n', unless NUL is set
	NUL   bool // Delim is the zero byte
	// RecordBytes, if not 0, is the size of records that have no delimiter, at most
	// jobs.MaxRecordBytes. It implies NoDecode.
	RecordBytes int
	Paired      bool      // records are pairs (jobs.Block.Pairs), only for OpenText
	SkipBinary  bool      // files with a NUL byte in their first 64 KiB yield nothing
	Stdin       io.Reader // the path - means this; nil: the path - is an error
	// OnStdin, if not nil, is called once if Stdin is among the inputs and a regular file with
	// bytes behind its offset. Such a file is read with pread, which leaves the offset. file is
	// the Block.File of its blocks.
	OnStdin  func(f *os.File, at, bytes int64, file int32)
	NoDecode bool // take the bytes of compressed files as they are
	// UTF16 decodes files that begin with a byte-order mark of UTF-16 to UTF-8, also with NoDecode.
	UTF16 bool
	// Prompt ends a block of a pipe when the writer pauses, not only when a chunk is full.
	// It has an effect only with NoDecode. The last block of such a stream is not marked as
	// the last one.
	Prompt bool

	HDFS *hdfs.FS // files of HDFS; nil: no path is one of HDFS

	// Warn, if not nil, gets a line about an input that has a defect and can still be read to
	// its end. Any goroutine may call it.
	Warn func(string)

	// CreateTemp makes a temporary file for a long record of unknown length.
	// Streams and compressed files have such records. It is called if the
	// record is longer than GatherBytes (default 8 MiB). nil: such a record is
	// gathered in memory, whatever its length.
	CreateTemp  func() (*disk.TempFile, error)
	GatherBytes int64
}

// Limits of splits.
const (
	maxBlockBytes = 64 << 20 // the block of Hadoop
	minBlockBytes = 1 << 20  // for lengths chosen here; the user may set less
	maxSplits     = 1 << 18  // they take about 20 MB
	slopTenths    = 11       // Hadoop 1.0.3, FileInputFormat: it cuts while more than 1.1 blocks remain

	// maxTinySplits bounds splits of less than 1 KiB. A task takes much longer than to read so little.
	maxTinySplits = 4096
)

// withDefaults returns o with its defaults. It leaves BlockBytes at 0: chooseBlock chooses the
// length when all sizes are known.
func (o Options) withDefaults() Options {
	o.MapSlots = max(o.MapSlots, 1)
	o.SplitsPerSlot = cmp.Or(o.SplitsPerSlot, 4)
	if o.Delim == 0 && !o.NUL {
		o.Delim = '\n'
	}
	o.NoDecode = o.NoDecode || o.RecordBytes > 0 // a record may begin like a compressed file
	o.GatherBytes = cmp.Or(o.GatherBytes, 8<<20)
	return o
}

// File is one input file. It is kept small, because there may be many.
type File struct {
	Path       string // as the user named it
	Bytes      int64  // as stored; 0 if it is not known
	id         identity
	ctimeNanos int64       // last change of content or attributes; a new link is one, so a run compares id only
	input      int32       // index among the paths that the user named
	Codec      codec.Codec // None for small files, which are recognised when they are read
	Stream     bool        // it cannot be divided, and is read by OpenStream
	Rereadable bool        // it can be read a second time
	mayRead    bool        // the process is known to have the right to read it
	blockBytes int64       // block size of a file of HDFS; 0: another file
	named      bool        // by the user; false if found in a directory or by a glob
	spent      bool        // standard input, named a second time: it yields nothing
	kind       kind
}

// kind is the way in which a File is opened and read.
type kind uint8

const (
	regular      kind = iota
	regularStdin      // standard input, from a regular file, behind its offset
	inHDFS
	fifo
	stdin
	ofText // see OpenText
)

// regular reports whether a file can be read at any offset.
func (k kind) regular() bool { return k <= inHDFS }

// identity identifies a file and a state of its content. dev and ino are zero on systems
// without inode numbers.
type identity struct {
	dev, ino   uint64
	mtimeNanos int64
}

// walked is a directory that was searched for files.
type walked struct {
	path string
	id   identity
}

// same reports whether a and b are the same file, whatever its content.
func (a identity) same(b identity) bool {
	return a.ino != 0 && a.ino == b.ino && a.dev == b.dev
}

// Piece is the range [Start, End) of a file, in bytes.
type Piece struct {
	File       int32
	Start, End int64
}

// Split is the work of one map: the records whose first byte lies in one of its
// pieces. Splits stand in the order of the input. Pieces belongs to the Plan.
type Split struct {
	Pieces []Piece
	Bytes  int64 // as stored
}

// Plan is the input of a run. Its exported fields do not change after NewPlan or Found has
// returned it. Any number of goroutines may use it.
type Plan struct {
	Files   []File
	Splits  []Split
	Notes   []string // what was left out or changed, one line each
	Bytes   int64    // as stored, of all files whose size is known
	Streams []int32  // indices of files that cannot be divided, in order

	o     Options
	first int32 // number of files in the plans of Found before it; jobs.Block.File counts them too
	// stdinAt is the offset at which standard input begins, if it is a regular file.
	stdinAt int64

	hdfs    *hdfs.FS                       // nil: no path is one of HDFS
	missing func(path string, cause error) // Search.Missing of Found; nil: a file that cannot be read is an error
	// reported has the files for which missing was called. Several readers may have the same one.
	reported sync.Map
	block    int64 // bytes of a split
	// leastBlock is the least block of a plan of Found, if the user sets none.
	leastBlock int64
	dirs       []walked
	binary     []atomic.Uint32 // the verdict on each file (judge); nil unless SkipBinary
}

// NewPlan finds the files behind paths, checks them, and divides them into splits. A path that
// exists is one file or directory. Any other path is a glob, and "-" is standard input. Errors
// are of kind errs.BadInput.
func NewPlan(paths []string, o Options) (*Plan, error) {
	p := &Plan{o: o.withDefaults()}
	if len(paths) == 0 {
		return nil, errs.Fieldf("Options.Inputs", "name files, directories, globs, or - for standard input")
	}
	w := walker{plan: p, o: p.o, euid: int32(os.Geteuid())}
	for i, path := range paths {
		first := len(p.Files)
		if err := w.named(path); err != nil {
			return nil, err
		}
		for k := first; k < len(p.Files); k++ {
			p.Files[k].input = int32(i)
		}
	}
	w.notes()
	// Piece and Order count files in int32.
	if len(p.Files) > math.MaxInt32 {
		return nil, errs.Inputf("", "%d input files are too many", len(p.Files))
	}
	if err := p.split(); err != nil {
		return nil, err
	}
	if p.o.SkipBinary {
		p.binary = make([]atomic.Uint32, len(p.Files))
	}
	return p, nil
}

// BlockBytes returns the bytes of a split: those of Options, or the length that NewPlan chose.
func (p *Plan) BlockBytes() int64 { return p.block }

// AheadBytes returns the most bytes for which decoding ahead asks a Sparer. It assumes one
// stream at a time, and the given number of goroutines, but at least two. It returns 0 if no stream can
// be decoded ahead.
func (p *Plan) AheadBytes(goroutines int) (bytes int64) {
	for _, i := range p.Streams {
		bytes = max(bytes, p.Files[i].Codec.AheadBytes(goroutines))
	}
	return bytes
}

// File returns the path of the input file that info describes; false: info is not an input file.
func (p *Plan) File(info os.FileInfo) (path string, ok bool) {
	id := identityOf(info)
	for i := range p.Files {
		// On systems without inode numbers the file at the path is compared. Standard input has
		// no path.
		f := &p.Files[i]
		if id.ino == 0 && f.kind == regular && isAt(info, f.Path) || id.same(f.id) {
			return f.Path, true
		}
	}
	return "", false
}

// Directory returns the path of the directory that info describes; false: it was not searched
// for files.
func (p *Plan) Directory(info os.FileInfo) (path string, ok bool) {
	id := identityOf(info)
	for i := range p.dirs {
		if d := &p.dirs[i]; id.ino == 0 && isAt(info, d.path) || id.same(d.id) {
			return d.path, true
		}
	}
	return "", false
}

// isAt reports whether info describes the file at path, on systems without
// inode numbers.
func isAt(info os.FileInfo, path string) bool {
	other, err := disk.Stat(path)
	return err == nil && os.SameFile(info, other)
}

// shown returns a path for a message of one line. It quotes a path with control characters: a line
// feed would break the message in two, and an escape could reach a terminal.
func shown(path string) string {
	for i := 0; i < len(path); i++ {
		if path[i] < ' ' || path[i] == 0x7f {
			return strconv.Quote(path)
		}
	}
	return path
}

// Fingerprint describes a file and its content, so that a later run can find out whether the file
// has changed.
type Fingerprint struct {
	Path       string `json:"input"`
	Of         int32  `json:"of,omitempty"` // index among the paths that the user named (jobs.Block.Input)
	Bytes      int64  `json:"bytes"`
	ModNanos   int64  `json:"mtime_ns"`
	CtimeNanos int64  `json:"ctime_ns,omitempty"` // last change of content or attributes; no program can set it; 0: not known
	Inode      uint64 `json:"inode,omitempty"`
	SampleHash uint64 `json:"sample,omitempty"` // xxHash-64 of some of its bytes; 0: none were read
}

const (
	// mostSampled bounds the files of a plan that are sampled, because opening a file costs more
	// than the rest of a fingerprint. They are evenly spaced among the files.
	mostSampled = 1024

	// samplePlaces is the number of places that are read in a file: its start, its end, and some
	// between them.
	samplePlaces     = 4
	samplePlaceBytes = 4 << 10
)

// Fingerprint returns the fingerprint of file i. Its attributes are those of the plan. Its bytes
// are read now, if the file is sampled.
func (p *Plan) Fingerprint(i int) (_ Fingerprint, err error) {
	f := &p.Files[i]
	print := Fingerprint{Path: f.Path, Of: f.input, Bytes: f.Bytes, ModNanos: f.id.mtimeNanos, CtimeNanos: f.ctimeNanos, Inode: f.id.ino}
	if step := (len(p.Files) + mostSampled - 1) / mostSampled; !f.kind.regular() || i%step != 0 {
		return print, nil
	}
	var h handle
	if err := p.open(f, &h); err != nil {
		return print, err
	}
	sum := xxhash.New()
	buf := make([]byte, samplePlaceBytes)
	for place := range int64(samplePlaces) {
		n, readErr := h.ReadAt(buf, max(0, f.Bytes-samplePlaceBytes)/(samplePlaces-1)*place)
		if readErr != nil && readErr != io.EOF {
			err = readErr
		}
		_, _ = sum.Write(buf[:n]) // never fails
	}
	print.SampleHash = sum.Sum64()
	return print, errors.Join(err, h.Close())
}

// Division returns a hash of the splits: plans with the same files and the same hash are
// divided into the same splits.
func (p *Plan) Division() uint64 {
	sum := xxhash.New()
	var room [24]byte
	for i := range p.Splits {
		for _, pc := range p.Splits[i].Pieces {
			binary.LittleEndian.PutUint32(room[:], uint32(i))
			binary.LittleEndian.PutUint32(room[4:], uint32(pc.File))
			binary.LittleEndian.PutUint64(room[8:], uint64(pc.Start))
			binary.LittleEndian.PutUint64(room[16:], uint64(pc.End))
			_, _ = sum.Write(room[:]) // never fails
		}
	}
	return sum.Sum64()
}
