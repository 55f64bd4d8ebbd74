package input_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mrlocal/input"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
)

func TestEveryFileYieldsALastBlock(t *testing.T) {
	tree(t, "a", "empty/")
	must(t, os.WriteFile("none", nil, 0o666))
	p := plan(t, input.Options{}, "a", "none", "a")
	var got []string
	r := p.Open(p.Splits[0], &memory{})
	for r.Next() {
		b := r.Block()
		got = append(got, fmt.Sprintf("%d %s %d %q %v", b.File, b.Path, b.Offset, b.Data, b.Last))
	}
	must(t, r.Close())
	if d := cmp.Diff([]string{`0 a 0 "a" true`, `1 none 0 "" true`, `2 a 0 "a" true`}, got); d != "" {
		t.Error(d)
	}
}

// A line that crosses many splits belongs to the first of them. The others
// yield nothing, and each reads only its own range, once.
func TestALineLongerThanManySplits(t *testing.T) {
	const length = 5 << 20
	text := append(bytes.Repeat([]byte("x"), length), "\nafter\n"...)
	p := plan(t, input.Options{BlockBytes: 512 << 10}, write(t, "f", text))
	m := &memory{limitBytes: length + 1 + 300<<10}
	for i, s := range p.Splits {
		var got []byte
		r := p.Open(s, m)
		for r.Next() {
			got = append(got, r.Block().Data...)
		}
		must(t, r.Close())
		switch {
		case i == 0 && !bytes.Equal(got, text[:length+1]):
			t.Errorf("the first split yields %d bytes", len(got))
		case i > 0 && i < len(p.Splits)-1 && len(got) > 0:
			t.Errorf("split %d yields %d bytes", i, len(got))
		case i == len(p.Splits)-1 && string(got) != "after\n":
			t.Errorf("the last split yields %q", got)
		}
	}
	m.none(t)
	if m.mu.peak > length+1 {
		t.Errorf("%d bytes of memory for a record of %d", m.mu.peak, length+1)
	}
}

func TestARecordWithoutRoomIsNamed(t *testing.T) {
	text := append([]byte("short\n"), bytes.Repeat([]byte("x"), 1<<20)...)
	p := plan(t, input.Options{}, write(t, "f", text))
	m := &memory{limitBytes: 512 << 10}
	_, err := tryRead(t, p, '\n', m, false)
	if !errors.Is(err, errRoom) || !strings.Contains(err.Error(), "f: record at offset 6 of 1048576 bytes: ") {
		t.Error(err)
	}
}

func TestAFileThatChangedIsAnError(t *testing.T) {
	text := bytes.Repeat([]byte("0123456\n"), 40<<10) // two chunks
	later := func(path string) error { return os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)) }
	changes := map[string]func(path string) error{
		"truncated": func(path string) error { return os.Truncate(path, 1000) },
		"emptied":   func(path string) error { return os.Truncate(path, 0) },
		"grown": func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("more\n")
			return errors.Join(err, f.Close())
		},
		"written to": func(path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("changed")
			return errors.Join(err, f.Close(), later(path))
		},
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", text, 0o666), os.Rename(path+".new", path))
		},
		"removed": os.Remove,
	}
	zstdText := compressors["zstd"](sampleText(1 << 20))
	for name, change := range changes {
		for _, during := range []bool{false, true} {
			for codec, stored := range map[string][]byte{"plain": text, "zstd": zstdText} {
				t.Run(fmt.Sprintf("%s, %s, during=%v", name, codec, during), func(t *testing.T) {
					path := write(t, "name", stored)
					p := plan(t, input.Options{}, path)
					r := p.Open(p.Splits[0], &memory{})
					defer r.Close()
					if during && !r.Next() {
						t.Fatal(r.Close())
					}
					must(t, change(path))
					for r.Next() {
					}
					err := r.Close()
					if during && (name == "replaced" || name == "removed") {
						must(t, err) // what was opened is still there, whole
						return
					}
					if name != "removed" && !errors.Is(err, input.ErrChanged) {
						t.Error(err)
					}
					if err == nil || !strings.Contains(err.Error(), "name: ") {
						t.Error(err)
					}
				})
			}
		}
	}
}

// A file that is read by one call shows a change of its length without stat.
// Its time is compared only if the result of an earlier reading may be in use.
func TestASmallFileIsKnownByItsLengthUntilItIsReadAgain(t *testing.T) {
	for name, c := range map[string]struct {
		text      string
		is, again bool // the planned one, for the first reader and for others
	}{
		"as it was":                {"abc\n", true, true},
		"other text":               {"xyz\n", true, false},
		"a byte more":              {"abcd\n", false, false},
		"a byte less":              {"ab\n", false, false},
		"longer than a chunk":      {strings.Repeat("abc\n", membudget.ChunkBytes), false, false},
		"nothing":                  {"", false, false},
		"compressed, other length": {string(compressors["zstd"]([]byte("abc\n"))), false, false},
	} {
		path := write(t, "f", []byte("abc\n"))
		p := plan(t, input.Options{}, path)
		if c.text != "abc\n" {
			writeTo(t, path, []byte(c.text))
			must(t, os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)))
		}
		for again, want := range map[*input.Reader]bool{
			p.Open(p.Splits[0], &memory{}): c.is, p.Reopen(p.Splits[0], &memory{}): c.again,
		} {
			var got []byte
			for again.Next() {
				got = append(got, again.Block().Data...)
			}
			err := again.Close()
			if want && (err != nil || string(got) != c.text) || !want && (!errors.Is(err, input.ErrChanged) || len(got) > 0) {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
	}
}

func TestAnEmptyFileThatGrewIsAnError(t *testing.T) {
	path := write(t, "f", nil)
	p := plan(t, input.Options{}, path)
	writeTo(t, path, []byte("x\n"))
	if _, err := tryRead(t, p, '\n', &memory{}, false); !errors.Is(err, input.ErrChanged) {
		t.Error(err)
	}
}

func TestFilesOfProcAndSys(t *testing.T) {
	for _, path := range []string{"/proc/version", "/proc/self/limits", "/proc/kallsyms", "/proc/filesystems", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/notes"} {
		want, err := os.ReadFile(path)
		if err != nil || len(want) == 0 {
			continue
		}
		for _, block := range []int64{0, 1 << 10} {
			p := plan(t, input.Options{BlockBytes: block}, path)
			c, err := tryRead(t, p, '\n', &memory{}, false)
			if err != nil || !bytes.Equal(c.data[0], want) {
				t.Errorf("%s, block %d: %d bytes of %d, %v", path, block, len(c.data[0]), len(want), err)
			}
		}
	}
}

func TestStandardInput(t *testing.T) {
	text := sampleText(700 << 10)
	long := append(bytes.Repeat([]byte("y"), 600<<10), "\nz"...)
	for name, text := range map[string][]byte{"text": text, "long lines": long, "nothing": {}, "a line": []byte("x")} {
		for codec, stored := range map[string][]byte{"plain": text, "gzip": compressors["gzip"](text)} {
			for reader, r := range map[string]io.Reader{
				"whole": bytes.NewReader(stored), "halves": iotest.HalfReader(bytes.NewReader(stored)), "data and error": iotest.DataErrReader(bytes.NewReader(stored)),
			} {
				t.Run(name+", "+codec+", "+reader, func(t *testing.T) {
					p := plan(t, input.Options{Stdin: r}, "-")
					if len(p.Streams) != 1 || p.Files[0].Path != "(standard input)" || p.Files[0].Rereadable {
						t.Errorf("%+v", p.Files[0])
					}
					c, err := tryRead(t, p, '\n', &memory{}, true)
					if err != nil || !bytes.Equal(c.data[0], text) || c.last[0] != 1 {
						t.Errorf("%d bytes of %d, %v", len(c.data[0]), len(text), err)
					}
					if _, err := p.ReopenStream(0, 0, 10, &memory{}); err == nil {
						t.Error("read a second time")
					}
				})
			}
		}
	}
	failing := plan(t, input.Options{Stdin: io.MultiReader(strings.NewReader("abc\n"), iotest.ErrReader(errRoom))}, "-")
	if _, err := tryRead(t, failing, '\n', &memory{}, false); !errors.Is(err, errRoom) {
		t.Errorf("a failing standard input: %v", err)
	}
}

// Standard input from a regular file is divided like a file, from its offset on. Named a second time it
// is at its end. Reading leaves the offset.
func TestStandardInputFromAFileIsSplit(t *testing.T) {
	text := sampleText(700 << 10)
	for codec, stored := range map[string][]byte{"plain": text, "gzip": compressors["gzip"](text)} {
		for _, block := range []int64{1 << 20, 64 << 10} {
			f, err := os.Open(write(t, "f", stored))
			must(t, err)
			defer f.Close()
			p := plan(t, input.Options{Stdin: f, BlockBytes: block}, "-", "-")
			if !p.Files[0].Rereadable || codec == "plain" && block < 1<<20 && len(p.Splits) < 10 {
				t.Errorf("%d splits", len(p.Splits))
			}
			c, err := tryRead(t, p, '\n', &memory{}, true)
			if err != nil || !bytes.Equal(c.data[0], text) || len(c.data[1]) > 0 {
				t.Errorf("%s: %d bytes of %d and %d more, %v", codec, len(c.data[0]), len(text), len(c.data[1]), err)
			}
			n, err := f.Seek(5, io.SeekStart)
			must(t, err)
			p = plan(t, input.Options{Stdin: f}, "-")
			if !p.Files[0].Rereadable {
				t.Error("a file that was read from is a stream")
			}
			if c, err := tryRead(t, p, '\n', &memory{}, true); codec == "plain" && (err != nil || !bytes.Equal(c.data[0], text[n:])) {
				t.Errorf("%s from %d: %d bytes of %d, %v", codec, n, len(c.data[0]), len(text), err)
			}
			if at, err := f.Seek(0, io.SeekCurrent); at != n || err != nil {
				t.Errorf("the offset is %d, %v", at, err)
			}
			fi, err := f.Stat()
			must(t, err)
			if _, ok := p.File(fi); !ok {
				t.Error("the plan does not know the file behind standard input")
			}
		}
	}
}

// A stream between files keeps the order of the input.
func TestStreamsEndASplit(t *testing.T) {
	tree(t, "a", "b", "c", "d")
	p := plan(t, input.Options{Stdin: strings.NewReader("in")}, "a", "b", "-", "c", "d")
	if len(p.Splits) != 2 || p.Splits[0].Pieces[0].File != 0 || p.Splits[1].Pieces[0].File != 3 || cmp.Diff([]int32{2}, p.Streams) != "" {
		t.Errorf("%+v %v", p.Splits, p.Streams)
	}
	readAll(t, p, '\n')
}

func TestBinaryFilesAreSkippedWhenAsked(t *testing.T) {
	dir := t.TempDir()
	text := sampleText(100 << 10)
	early := append(append([]byte("a\n\x00"), text...), '\n')
	late := append(append([]byte{}, text...), "\x00\n"...)
	files := map[string][]byte{"0text": text, "1early": early, "2late": late, "3early.gz": compressors["gzip"](early), "4text.gz": compressors["gzip"](text), "5empty": nil}
	for name, data := range files {
		writeTo(t, filepath.Join(dir, name), data)
	}
	for _, block := range []int64{0, 1 << 10, 50 << 10} {
		p := plan(t, input.Options{SkipBinary: true, BlockBytes: block}, dir)
		var skipped []int32
		got := map[int32][]byte{}
		for _, s := range p.Splits {
			r := p.Open(s, &memory{})
			r.OnSkipped = func(files []int32) { skipped = append(skipped, files...) }
			for r.Next() {
				got[r.Block().File] = append(got[r.Block().File], r.Block().Data...)
			}
			must(t, r.Close())
		}
		for _, f := range p.Streams {
			st, err := p.OpenStream(f, &memory{})
			must(t, err)
			for st.Next() {
				got[f] = append(got[f], st.Block().Data...)
			}
			must(t, st.Err())
			if st.Skipped() {
				skipped = append(skipped, f)
			}
			st.Close()
		}
		if d := cmp.Diff([]int32{1, 3}, skipped); d != "" {
			t.Errorf("block %d: skipped %v", block, skipped)
		}
		for i, want := range map[int32][]byte{0: text, 1: nil, 2: late, 3: nil, 4: text, 5: nil} {
			if !bytes.Equal(got[i], want) {
				t.Errorf("block %d: file %d has %d bytes, not %d", block, i, len(got[i]), len(want))
			}
		}
	}
}

func TestSamplesAreRecordsFromEvenlySpacedPlaces(t *testing.T) {
	dir := t.TempDir()
	text := sampleText(3 << 20)
	for name, data := range map[string][]byte{"a": text, "b.gz": compressors["gzip"](text), "c": text[:5000], "d": nil, "e": bytes.Repeat([]byte("z"), 1<<20)} {
		writeTo(t, filepath.Join(dir, name), data)
	}
	p := plan(t, input.Options{BlockBytes: 4 << 20}, dir)
	sample := func() (blocks []jobs.Block) {
		m := &memory{}
		must(t, p.Sample(32, 8<<10, m, func(b jobs.Block) error {
			b.Data = bytes.Clone(b.Data)
			blocks = append(blocks, b)
			return nil
		}))
		m.none(t)
		return blocks
	}
	blocks := sample()
	if len(blocks) < 15 || len(blocks) > 33 {
		t.Errorf("%d blocks of 32 places", len(blocks))
	}
	if !reflect.DeepEqual(blocks, sample()) {
		t.Error("two samples differ")
	}
	perFile := map[int32]int{}
	for _, b := range blocks {
		perFile[b.File]++
		if b.File > 2 {
			t.Errorf("a block of file %d", b.File)
			continue
		}
		if !bytes.HasPrefix(text[b.Offset:], b.Data) || b.Offset > 0 && text[b.Offset-1] != '\n' || b.Data[len(b.Data)-1] != '\n' {
			t.Errorf("file %d: block at %d is not records of it", b.File, b.Offset)
		}
		if b.File == 0 && len(b.Data) > 9<<10 {
			t.Errorf("%d bytes at a place", len(b.Data))
		}
	}
	if perFile[1] != 1 {
		t.Errorf("%d blocks of the compressed file", perFile[1])
	}
	if err := p.Sample(3, 100, &memory{}, func(jobs.Block) error { return errRoom }); !errors.Is(err, errRoom) {
		t.Errorf("fn's error: %v", err)
	}
	must(t, plan(t, input.Options{Stdin: strings.NewReader("x")}, "-").Sample(5, 5, &memory{}, nil))
}

// A plan of 100,000 files opens few of them, and is small.
func TestAPlanOfManyFilesIsSmallAndQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("makes many files")
	}
	const files = 1_000
	dir := t.TempDir()
	for i := range files {
		writeTo(t, fmt.Sprintf("%s/some-file-name-%06d.txt", dir, i), []byte("x\n"))
	}
	begin := time.Now()
	p := plan(t, input.Options{}, dir)
	took := time.Since(begin)
	t.Logf("%d files: %v, %d splits", files, took, len(p.Splits))
	if took > 2*time.Second {
		t.Errorf("planning took %v", took)
	}
	if d := testing.AllocsPerRun(1, func() { plan(t, input.Options{}, dir) }); d > 6*files {
		t.Errorf("%v allocations", d)
	}
	n := 0
	m := &memory{}
	for _, s := range p.Splits {
		r := p.Open(s, m)
		for r.Next() {
			n += len(r.Block().Data)
		}
		must(t, r.Close())
	}
	if n != 2*files {
		t.Errorf("%d bytes", n)
	}
}

// steady is a Memory that gives out the same chunk each time.
type steady struct{ c *membudget.Chunk }

func (s steady) Get(bytes int) (*membudget.Chunk, error) {
	if bytes > len(s.c.Data) {
		return nil, errRoom
	}
	return s.c, nil
}
func (steady) Put(*membudget.Chunk) {}

func newSteady() steady {
	return steady{&membudget.Chunk{Data: make([]byte, membudget.ChunkBytes)}}
}

func TestReaderNextAllocatesNothing(t *testing.T) {
	path := write(t, "f", bytes.Repeat([]byte("some text in a line\n"), 2<<20))
	p := plan(t, input.Options{BlockBytes: 64 << 20}, path)
	r := p.Open(p.Splits[0], newSteady())
	defer r.Close()
	r.Next()
	if n := testing.AllocsPerRun(100, func() {
		if !r.Next() {
			t.Fatal(r.Close())
		}
	}); n > 0 {
		t.Errorf("%v allocations per block", n)
	}
}

func BenchmarkReaderNext(b *testing.B) {
	text := bytes.Repeat([]byte("some text in a line\n"), 64<<20/20)
	many := bytes.Repeat(sampleText(2<<20), 16)
	for name, stored := range map[string][]byte{"none": text, "gzip": compressors["gzip"](many), "zstd": compressors["zstd"](many), "s2": compressors["s2"](many)} {
		b.Run("codec="+name, func(b *testing.B) {
			p := plan(b, input.Options{BlockBytes: 1 << 40}, write(b, "f", stored))
			var decoded int64
			mem := newSteady()
			b.ReportAllocs()
			for b.Loop() {
				decoded = 0
				r := p.Open(p.Splits[0], mem)
				for r.Next() {
					decoded += int64(len(r.Block().Data))
				}
				must(b, r.Close())
			}
			b.SetBytes(decoded)
		})
	}
}

func FuzzSplits(f *testing.F) {
	f.Add([]byte("a\nbb\n\nccc"), uint16(3), false)
	f.Add([]byte("a\x00bb\x00"), uint16(1), true)
	f.Add(compressors["gzip"]([]byte("abc\n")), uint16(7), false)
	f.Fuzz(func(t *testing.T, text []byte, block uint16, nul bool) {
		delim := byte('\n')
		if nul {
			delim = 0
		}
		path := write(t, "f", text)
		p := plan(t, input.Options{BlockBytes: int64(block) + 1, NUL: nul, Delim: delim}, path)
		c, err := tryRead(t, p, delim, &memory{}, true)
		compressed := len(text) >= 2 && (text[0] == 0x1f || text[0] == 0x28 || text[0] == 0xff || text[0] == 'B' || text[0]&0xf0 == 0x50)
		if !compressed && (err != nil || !bytes.Equal(c.data[0], text) || c.last[0] != 1) {
			t.Fatalf("%d bytes of %d, %d last blocks, %v", len(c.data[0]), len(text), c.last[0], err)
		}
	})
}
