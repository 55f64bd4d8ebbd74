package input

import (
	"io"
	"math"
	"os"
	"strconv"
	"sync/atomic"

	"mrlocal/errs"
	"mrlocal/input/codec"
	"mrlocal/internal/membudget"
)

// Memory is where readers get the memory of their blocks. Get returns a chunk
// of at least bytes; a standard chunk is membudget.ChunkBytes long.
type Memory interface {
	Get(bytes int) (*membudget.Chunk, error)
	Put(*membudget.Chunk)
}

// Charger is an optional ability of a Memory: decoders charge it for the
// window they keep on the Go heap. If a Memory is no Charger, windows of more
// than 8 MiB are refused.
type Charger interface {
	Charge(bytes int64) (release func(), err error)
}

// Options of a Plan. The zero value works.
type Options struct {
	// BlockBytes is the length of a split. 0: so that there are SplitsPerSlot
	// for each of MapSlots, from 1 MiB to 64 MiB.
	BlockBytes    int64
	MapSlots      int // default 1
	SplitsPerSlot int // default 4
	// Taper makes splits of small files smaller towards the end of the input,
	// unless BlockBytes is set: so that slots end together.
	Taper bool

	// All takes files inside directories whose names start with . or _.
	All bool
	// Exclude leaves out files inside directories for which it is true. It is
	// called from several goroutines.
	Exclude func(path string) bool

	Delim      byte      // ends a record; default '\n', unless NUL is set
	NUL        bool      // Delim is the zero byte
	SkipBinary bool      // files with a NUL in their first 64 KiB yield nothing
	Stdin      io.Reader // what - reads; nil: there is none
	NoDecode   bool      // take the bytes of compressed files as they are

	// CreateTemp makes the file in which a long record of unknown length (in
	// a stream or a compressed file) is collected when GatherBytes (default
	// 8 MiB) do not hold it. nil: it is gathered in memory whatever its
	// length.
	CreateTemp  func() (*os.File, error)
	GatherBytes int64
}

// Limits of splitting.
const (
	maxBlockBytes = 64 << 20 // Hadoop's block
	minBlockBytes = 1 << 20  // of those chosen here; the user may go lower
	maxSplits     = 1 << 18  // what a plan may cost: about 20 MB
	slopTenths    = 11       // Hadoop cuts while more than 1.1 blocks remain
)

func (o Options) withDefaults() Options {
	o.MapSlots = max(o.MapSlots, 1)
	if o.SplitsPerSlot <= 0 {
		o.SplitsPerSlot = 4
	}
	if o.Delim == 0 && !o.NUL {
		o.Delim = '\n'
	}
	if o.GatherBytes <= 0 {
		o.GatherBytes = 8 << 20
	}
	return o
}

// File is one input file. It is small, because there may be many.
type File struct {
	Path       string // as the user named it
	Bytes      int64  // stored; 0 where it is not known
	id         identity
	Codec      codec.Codec // of large files; small ones are recognised when they are read
	Stream     bool        // cannot be split: read by OpenStream
	Rereadable bool
	mayRead    bool // known without asking
	named      bool // by the user, not found in a directory or by a glob
	kind       kind
}

// kind is what a File is to the operating system.
type kind uint8

const (
	regular      kind = iota
	regularStdin      // standard input, from a regular file, at its start
	fifo
	stdin
)

func (k kind) regular() bool { return k <= regularStdin }

// identity is what a file is known by. Where the system has no inode numbers
// both are zero.
type identity struct {
	dev, ino   uint64
	mtimeNanos int64
}

// walked is a directory that was read for input.
type walked struct {
	path string
	id   identity
}

// same reports whether a and b are one file (whatever its content).
func (a identity) same(b identity) bool {
	return a.ino != 0 && a.ino == b.ino && a.dev == b.dev
}

// Piece is the range [Start, End) of a file.
type Piece struct {
	File       int32
	Start, End int64
}

// Split is the work of one map: the records whose first byte lies in one of
// its pieces. Pieces are borrowed from the Plan.
type Split struct {
	Pieces []Piece
	Bytes  int64 // stored
	ID     int32
	Order  Order
}

// Order sorts splits, and what a stream is fed in, by the order of the input:
// the first file, then the place in that file.
type Order struct{ File, Seq int32 }

// Plan is the input of a run. It is not changed after NewPlan, and may be used
// by several goroutines.
type Plan struct {
	Files   []File
	Splits  []Split
	Notes   []string // what was skipped or changed, a line each
	Bytes   int64    // stored, of all files whose size is known
	Streams []int32  // files that must be read by one reader, in order

	o      Options
	block  int64
	dirs   []walked
	binary []atomic.Uint32 // per file: unknown, text or binary; nil unless SkipBinary
}

// NewPlan finds the files behind paths, checks them, and cuts them into
// splits. A path that exists is taken literally, else as a glob; - is standard
// input. Errors are usage errors: nothing has been started.
func NewPlan(paths []string, o Options) (*Plan, error) {
	p := &Plan{o: o.withDefaults()}
	if len(paths) == 0 {
		return nil, errs.Inputf("", "no input named")
	}
	w := walker{plan: p, o: p.o, euid: int32(os.Geteuid())}
	for _, path := range paths {
		if err := w.named(path); err != nil {
			return nil, err
		}
	}
	w.notes()
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

// BlockBytes is the length of a split that was settled on.
func (p *Plan) BlockBytes() int64 { return p.block }

// File finds the input file that info is of.
func (p *Plan) File(info os.FileInfo) (path string, ok bool) {
	id := identityOf(info)
	for i := range p.Files {
		f := &p.Files[i]
		if id.ino == 0 && f.kind != stdin && f.kind != regularStdin && isAt(info, f.Path) || id.same(f.id) {
			return f.Path, true
		}
	}
	return "", false
}

// Directory finds the directory that was read for input and that info is of.
func (p *Plan) Directory(info os.FileInfo) (path string, ok bool) {
	id := identityOf(info)
	for i := range p.dirs {
		if d := &p.dirs[i]; id.ino == 0 && isAt(info, d.path) || id.same(d.id) {
			return d.path, true
		}
	}
	return "", false
}

// isAt serves systems without inode numbers.
func isAt(info os.FileInfo, path string) bool {
	other, err := os.Stat(path)
	return err == nil && os.SameFile(info, other)
}

// shown is a path as it stands in a message of one line.
func shown(path string) string {
	for i := 0; i < len(path); i++ {
		if path[i] < ' ' || path[i] == 0x7f {
			return strconv.Quote(path)
		}
	}
	return path
}
