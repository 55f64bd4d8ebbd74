package input_test

import (
	"bytes"
	stdgzip "compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"mrlocal/input"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/testkit"
)

// compressors make one member or frame each. Go has no writer of bzip2, so its
// data was made by bzip2 1.0.8 from the text below.
var compressors = map[string]func(text []byte) []byte{
	"gzip": func(text []byte) []byte {
		var b bytes.Buffer
		w := stdgzip.NewWriter(&b)
		w.Write(text)
		w.Close()
		return b.Bytes()
	},
	"zstd": func(text []byte) []byte {
		var b bytes.Buffer
		w, _ := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		w.Write(text)
		w.Close()
		return b.Bytes()
	},
	"pzstd": func(text []byte) []byte {
		var b bytes.Buffer
		w, _ := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		w.Write(text)
		w.Close()
		return append([]byte{0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4}, b.Bytes()...)
	},
	"s2": func(text []byte) []byte {
		var b bytes.Buffer
		w := s2.NewWriter(&b, s2.WriterConcurrency(1))
		w.Write(text)
		w.Close()
		return b.Bytes()
	},
	"snappy": func(text []byte) []byte {
		var b bytes.Buffer
		w := s2.NewWriter(&b, s2.WriterConcurrency(1), s2.WriterSnappyCompat())
		w.Write(text)
		w.Close()
		return b.Bytes()
	},
	"xz": func(text []byte) []byte { return xzData(text, xz.WriterConfig{DictCap: 1 << 20}) },
	"xz without check, of many blocks": func(text []byte) []byte {
		return xzData(text, xz.WriterConfig{DictCap: 1 << 16, BlockSize: 100_000, CheckSum: xz.None, NoCheckSum: true})
	},
	"xz with sha256, and padding": func(text []byte) []byte {
		return append(xzData(text, xz.WriterConfig{DictCap: 1 << 16, CheckSum: xz.SHA256}), 0, 0, 0, 0, 0, 0, 0, 0)
	},
	"lz4": func(text []byte) []byte { return lz4Data(text) },
	"lz4 behind a skippable frame": func(text []byte) []byte {
		return append([]byte{0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3}, lz4Data(text, lz4.BlockSizeOption(lz4.Block64Kb), lz4.BlockChecksumOption(true))...)
	},
}

func xzData(text []byte, c xz.WriterConfig) []byte {
	var b bytes.Buffer
	w, err := c.NewWriter(&b)
	if err != nil {
		panic(err)
	}
	w.Write(text)
	w.Close()
	return b.Bytes()
}

func lz4Data(text []byte, o ...lz4.Option) []byte {
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	if err := w.Apply(o...); err != nil {
		panic(err)
	}
	w.Write(text)
	w.Close()
	return b.Bytes()
}

// bzip2Text is what bzip2Data decodes to.
const bzip2Text = "one\ntwo\nthree\n"

const bzip2Base64 = "QlpoOTFBWSZTWQh7fdcAAATBgAAQAkGUgCAAMQwIIaPUyIVHMjio8XckU4UJAIe33XA="

func bzip2Data(t testing.TB) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(bzip2Base64)
	must(t, err)
	return b
}

var someText = sync.OnceValue(func() []byte {
	rng := rand.New(rand.NewPCG(3, 4))
	var b []byte
	for len(b) < 3<<20 {
		b = strconv.AppendUint(b, rng.Uint64(), 16)
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(len(b)), 10)
		b = append(b, '\n')
	}
	return b
})

// sampleText returns lines with at least n bytes together, up to 3 MiB.
func sampleText(n int) []byte {
	b := someText()
	n += bytes.IndexByte(b[n:], '\n') + 1
	return b[:n:n]
}

func TestCompressedInputIsDecodedInAMapOrAsAStream(t *testing.T) {
	size := 200 << 10
	if testkit.Long() {
		size = 400 << 10
	}
	text := sampleText(size)
	long := append(bytes.Repeat([]byte("long "), 70<<10), "line\nend"...)
	for name, compress := range compressors {
		for what, text := range map[string][]byte{
			"text": text, "nothing": {}, "a line": []byte("a\n"), "no final newline": []byte("a\nb"), "long lines": long,
			"chunks that end with a record": bytes.Repeat([]byte("0123456789abcde\n"), 256<<10/16*3),
		} {
			t.Run(name+" of "+what, func(t *testing.T) {
				whole := compress(text)
				half := (len(text) + 1) / 3
				members := append(compress(text[:half]), compress(text[half:])...)
				stored := [][]byte{whole, members}
				if !testkit.Long() {
					stored = stored[1:] // the first of the members is decoded as a whole file is
				}
				for _, data := range stored {
					path := write(t, "f", data)
					for _, block := range []int64{0, 64} {
						p := plan(t, input.Options{BlockBytes: block}, path)
						if stream := block == 64 && len(data) > 70; stream != p.Files[0].Stream {
							t.Fatalf("%d bytes, stream is %v", len(data), p.Files[0].Stream)
						}
						for _, keep := range []bool{false, true} {
							c, err := tryRead(t, p, '\n', &memory{}, keep)
							must(t, err)
							if !bytes.Equal(c.data[0], text) || c.last[0] != 1 {
								t.Fatalf("block %d: %d bytes of %d, %d last", block, len(c.data[0]), len(text), c.last[0])
							}
						}
					}
				}
			})
		}
	}
}

func TestBzip2(t *testing.T) {
	data := bzip2Data(t)
	for n, stored := range map[int][]byte{1: data, 2: append(slices.Clone(data), data...)} {
		p := plan(t, input.Options{}, write(t, "f.bz2", stored))
		if got := string(readAll(t, p, '\n').data[0]); got != strings.Repeat(bzip2Text, n) {
			t.Errorf("%d members: %q", n, got)
		}
	}
}

func TestFilesOfTheToolsThemselves(t *testing.T) {
	for _, path := range []string{"testdata/xz-5.4.1.xz", "testdata/lz4-1.9.4.lz4"} {
		p := plan(t, input.Options{}, path, path)
		if c := readAll(t, p, '\n'); string(c.data[0]) != bzip2Text || string(c.data[1]) != bzip2Text {
			t.Errorf("%s: %q", path, c.data[0])
		}
	}
}

// Damaged data is always an error.
func TestCompressedDataCutShortOrFollowedByGarbageIsAnError(t *testing.T) {
	size := 300 << 10
	if testing.Short() {
		size /= 3
	}
	text := sampleText(size)
	stored := map[string][]byte{"bzip2": bzip2Data(t)}
	for name, compress := range compressors {
		stored[name] = compress(text)
	}
	check := func(t *testing.T, data []byte, says string) {
		t.Helper()
		for _, block := range []int64{0, 64} {
			p := plan(t, input.Options{BlockBytes: block}, write(t, "name.z", data))
			_, err := tryRead(t, p, '\n', &memory{}, false)
			if err == nil || !strings.Contains(err.Error(), "name.z: ") || !strings.Contains(err.Error(), says) {
				t.Errorf("%d bytes: %v, not %q", len(data), err, says)
			}
		}
	}
	for name, data := range stored {
		t.Run(name, func(t *testing.T) {
			for _, cut := range []int{1, 5, len(data) / 2, len(data) - 20} {
				if cut >= len(data)-4 || name == "bzip2" && cut > len(data)-12 {
					continue
				}
				check(t, data[:len(data)-cut], "cut short after ")
			}
			if tail := "garbage after the end"; name != "gzip" && name != "bzip2" {
				check(t, append(slices.Clone(data), tail...), "corrupt after ")
			} else {
				check(t, append(slices.Clone(data), data[0]), "cut short after ") // the first byte of another member
				want := readAll(t, plan(t, input.Options{}, write(t, "f", data)), '\n').data[0]
				for _, tail := range []string{tail, "\x1f!", "BZ!", "\x00\x00\x00!", "!"} {
					var warned []string
					p := plan(t, input.Options{Warn: func(s string) { warned = append(warned, s) }}, write(t, "f", append(slices.Clone(data), tail...)))
					got := readAll(t, p, '\n').data[0]
					if !bytes.Equal(got, want) || len(warned) != 1 || !strings.HasSuffix(warned[0], "f: trailing garbage behind the "+name+" data is ignored") {
						t.Errorf("%q behind: the text is the same: %v; warned %q", tail, bytes.Equal(got, want), warned)
					}
				}
			}
			if name != "s2" && name != "snappy" {
				flipped := slices.Clone(data)
				flipped[len(flipped)/2] ^= 0x55
				check(t, flipped, " after ")
			}
		})
	}
	t.Run("gzip with zeros", func(t *testing.T) {
		p := plan(t, input.Options{}, write(t, "f", append(slices.Clone(stored["gzip"]), make([]byte, 1000)...)))
		if got := readAll(t, p, '\n').data[0]; !bytes.Equal(got, text) {
			t.Error("zeros after the last member changed the text")
		}
		check(t, append(append(slices.Clone(stored["gzip"]), 0, 0), stored["gzip"]...), "corrupt after ")
	})
}

// A file that is shorter than the header of each format is text. From there on, a file that ends early is an error.
// Text that follows the magic does not make a text of the file.
func TestBeginningsOfCompressedFiles(t *testing.T) {
	stored := map[string][]byte{"bzip2": bzip2Data(t), "skippable": []byte("\x53\x2a\x4d\x18\x64\x00\x00\x00" + strings.Repeat("s", 50))}
	for name, compress := range compressors {
		stored[name] = compress(sampleText(100))
	}
	file := filepath.Join(t.TempDir(), "f") // one for all beginnings, because a new file takes longer
	for name, size := range map[string]struct{ magic, header int }{
		"gzip": {3, 10}, "bzip2": {10, 10}, "zstd": {4, 6}, "s2": {10, 10}, "snappy": {10, 10}, "xz": {6, 12}, "lz4": {4, 7}, "skippable": {4, 8},
	} {
		if len(stored[name]) <= 40 {
			t.Fatalf("%s has %d bytes", name, len(stored[name]))
		}
		for n := range 41 {
			if n > 16 && n%4 != 0 {
				continue
			}
			for _, tail := range []string{"", "b\na\n", strings.Repeat("text\n", 100)} {
				data := string(stored[name][:n]) + tail
				whole := (name == "s2" || name == "snappy") && data == string(stored[name][:size.header])
				must(t, os.WriteFile(file, []byte(data), 0o666))
				for _, o := range []input.Options{{}, {Stdin: strings.NewReader(data)}} {
					path := file
					if o.Stdin != nil {
						path = "-"
					}
					c, err := tryRead(t, plan(t, o, path), '\n', &memory{}, false)
					switch isText := n < size.magic || len(data) < size.header; {
					case isText && (err != nil || string(c.data[0]) != data):
						t.Errorf("%q: %q, %v; want text", data, c.data, err)
					case !isText && !whole && (err == nil || tail == "" && !strings.Contains(err.Error(), "cut short")):
						t.Errorf("%q: %v; want it to be cut short or damaged", data, err)
					}
				}
			}
		}
	}
}

// A file that cannot be decoded is refused before any work starts.
func TestOtherArchivesAreRefusedByName(t *testing.T) {
	long := strings.Repeat("x", 2<<10)
	for head, says := range map[string]string{
		"PK\x03\x04\x14\x00": "a zip archive", "PK\x05\x06": "a zip archive", "7z\xbc\xaf\x27\x1c\x00\x04": "a 7z archive", "Rar!\x1a\x07\x01\x00": "a rar archive",
		"\x89LZO\x00\r\n\x1a\n": "lzop data", "LZIP\x01\x0c": "lzip data", "\x1f\x9d\x90": "data of compress (.Z)",
		"]\x00\x00\x80\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00": "lzma data", "]\x00\x00\xc0\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00": "lzma data",
	} {
		for _, tail := range []string{"", long} {
			for _, o := range []input.Options{{}, {BlockBytes: 1 << 10}, {SkipBinary: true}} {
				path := write(t, "data", []byte(head+tail))
				_, err := input.NewPlan([]string{path}, o)
				if !errs.IsUsage(err) || !strings.Contains(err.Error(), "data: is "+says+", which is not decoded") {
					t.Errorf("%q: %v", head, err)
				}
				o.NoDecode = true
				if c, err := tryRead(t, plan(t, o, path), '\n', &memory{}, false); err != nil || !o.SkipBinary && string(c.data[0]) != head+tail {
					t.Errorf("%q as it is: %q, %v", head, c.data[0], err)
				}
				_, err = tryRead(t, plan(t, input.Options{Stdin: strings.NewReader(head + tail)}, "-"), '\n', &memory{}, false)
				if err == nil || !strings.Contains(err.Error(), "(standard input): is "+says) {
					t.Errorf("%q from a pipe: %v", head, err)
				}
			}
		}
	}
}

// Only the bytes of a file say what it is. Brotli has no magic, so it is like any other file.
func TestASuffixRefusesNothing(t *testing.T) {
	for _, suffix := range []string{".br", ".gz", ".bz2", ".zst", ".lz4", ".xz", ".zip", ".Z", ".7z", ".rar", ".lzma", ".s2", ".tar"} {
		p := plan(t, input.Options{}, write(t, "host.com"+suffix, []byte("a\nb\n")))
		if c := readAll(t, p, '\n'); string(c.data[0]) != "a\nb\n" {
			t.Errorf("%s: %q", suffix, c.data[0])
		}
	}
}

// If binary files are skipped, an archive in a directory is one of them.
func TestArchivesInDirectoriesAreBinary(t *testing.T) {
	dir := t.TempDir()
	writeTo(t, filepath.Join(dir, "a.zip"), []byte("PK\x03\x04"))
	writeTo(t, filepath.Join(dir, "b.br"), []byte("text"))
	writeTo(t, filepath.Join(dir, "c"), append([]byte("\x1f\x9d\x90"), sampleText(2<<20)...))
	writeTo(t, filepath.Join(dir, "d"), []byte("text\n"))
	p := plan(t, input.Options{SkipBinary: true, BlockBytes: 1 << 20}, dir)
	c, err := tryRead(t, p, '\n', &memory{}, false)
	if err != nil || len(c.data) != 2 || string(c.data[1]) != "text" || string(c.data[3]) != "text\n" {
		t.Errorf("%d files, %v", len(c.data), err)
	}
	if _, err := input.NewPlan([]string{dir}, input.Options{}); !errs.IsUsage(err) || !strings.Contains(err.Error(), "a.zip: is a zip archive") {
		t.Error(err)
	}
}

// An archive is refused before any work, for any number of files. An archive in a directory
// under a name of text is refused when it is read.
func TestArchivesAreRefusedBeforeWorkWhateverTheNumberOfFiles(t *testing.T) {
	for _, files := range []int{1, 1100} {
		dir := t.TempDir()
		for i := range files {
			writeTo(t, filepath.Join(dir, fmt.Sprintf("%04d", i)), []byte("text\n"))
		}
		archive := filepath.Join(dir, "9")
		writeTo(t, archive, []byte("PK\x03\x04"))
		const leftOut = "9: is a zip archive, which is not decoded: unpack it first, or set Options.NoDecode to read its bytes as they are; to leave it out, name the other files"
		if _, err := input.NewPlan([]string{dir}, input.Options{}); !errs.IsUsage(err) || !strings.HasSuffix(err.Error(), leftOut) {
			t.Errorf("%d files: %v", files, err)
		}
		must(t, os.Rename(archive, archive+".txt"))
		for _, paths := range [][]string{{archive + ".txt"}, {dir, archive + ".txt"}} {
			if _, err := input.NewPlan(paths, input.Options{}); !errs.IsUsage(err) || !strings.HasSuffix(err.Error(), "as they are") {
				t.Errorf("%d files, named: %v", files, err)
			}
		}
		_, err := tryRead(t, plan(t, input.Options{}, dir), '\n', &memory{}, false)
		if !errs.IsUsage(err) || !strings.Contains(err.Error(), "9.txt: is a zip archive") {
			t.Errorf("%d files, read: %v", files, err)
		}
	}
}

func TestCompressedFilesAreReadAsTheyAre(t *testing.T) {
	for name, compress := range compressors {
		data := compress(sampleText(10 << 10))
		for _, block := range []int64{0, 1 << 10} {
			p := plan(t, input.Options{BlockBytes: block, NoDecode: true}, write(t, "f", data))
			if got := readAll(t, p, '\n').data[0]; !bytes.Equal(got, data) || len(p.Streams) > 0 {
				t.Errorf("%s: %d bytes of %d", name, len(got), len(data))
			}
		}
	}
}

func TestTextThatBeginsLikeAMagicIsText(t *testing.T) {
	for _, text := range []string{"BZh9 is not bzip2\n", "BZ", "\x1f\x8c\n", "(\xb5", "\xff\x06\n", "BZh0" + "1AY&SY", "PK", "PK\x03\n", "7z", "LZIP is a format\n", "Rar!\n", "]\x00\x00\x80", "\x1f\x9d\n"} {
		p := plan(t, input.Options{}, write(t, "f", []byte(text)))
		if got := string(readAll(t, p, '\n').data[0]); got != text {
			t.Errorf("%q read as %q", text, got)
		}
	}
}

// A range of a stream can be read again. However the stream is cut, its ranges
// together are the whole text.
func TestReopenedRangesAreTheWhole(t *testing.T) {
	text := append(sampleText(600<<10), bytes.Repeat([]byte("x"), 300<<10)...)
	text = append(text, "\nend"...)
	path := write(t, "f", compressors["zstd"](text))
	p := plan(t, input.Options{BlockBytes: 1 << 10}, path)
	if len(p.Streams) != 1 {
		t.Fatal("not a stream")
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 10 {
		var got []byte
		m := &memory{}
		last := 0
		for at := int64(0); at < int64(len(text)); {
			n := 1 + rng.Int64N(200<<10)
			st, err := p.ReopenStream(0, at, n, m)
			must(t, err)
			for st.Next() {
				if b := st.Block(); b.Offset != int64(len(got)) {
					t.Fatalf("range at %d: block at %d, not %d", at, b.Offset, len(got))
				} else if got = append(got, b.Data...); b.Last {
					last++
				}
			}
			must(t, st.Err())
			st.Close()
			at += n
		}
		m.none(t)
		if !bytes.Equal(got, text) || last != 1 {
			t.Fatalf("%d bytes of %d, %d last blocks", len(got), len(text), last)
		}
	}
}

// A record of unknown length is gathered in memory. If there is no memory for
// both its parts and the whole, it is gathered in a temporary file.
func TestALongRecordOfAStreamNeedsOnlyItsOwnMemory(t *testing.T) {
	const length = 3 << 20
	text := append(bytes.Repeat([]byte("a b c d "), length/8), "\nnext\n"...)
	path := write(t, "f.gz", compressors["gzip"](text))
	dir := t.TempDir()
	temps := 0
	root := disk.NewTempRoot([]string{dir}, 0)
	defer root.Close()
	createTemp := func() (*disk.TempFile, error) { temps++; return root.Create("record-*") }
	cases := map[string]struct {
		limit int
		o     input.Options
		temps int
		fails bool
	}{
		"ample memory touches no disk":        {0, input.Options{CreateTemp: createTemp, GatherBytes: 64 << 20}, 0, false},
		"beyond GatherBytes":                  {0, input.Options{CreateTemp: createTemp, GatherBytes: 1 << 20}, 1, false},
		"little more memory than the record":  {length + 300<<10, input.Options{CreateTemp: createTemp, GatherBytes: 64 << 20}, 1, false},
		"less memory than the record":         {length - 300<<10, input.Options{CreateTemp: createTemp}, 1, true},
		"no temporary file and ample memory":  {0, input.Options{}, 0, false},
		"no temporary file and little memory": {length + 300<<10, input.Options{}, 0, true},
		"no temporary file and less memory":   {length / 2, input.Options{}, 0, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			temps = 0
			m := &memory{limitBytes: c.limit}
			got, err := tryRead(t, plan(t, c.o, path), '\n', m, false)
			if c.fails {
				if !errors.Is(err, errRoom) || !strings.Contains(err.Error(), "f.gz: record at offset 0 of ") {
					t.Errorf("%v", err)
				}
			} else if err != nil || !bytes.Equal(got.data[0], text) {
				t.Errorf("%d bytes, %v", len(got.data[0]), err)
			}
			if temps != c.temps {
				t.Errorf("%d temporary files", temps)
			}
			if left, _ := filepath.Glob(dir + "/*/record*"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// charging is a Memory that charges windows.
type charging struct {
	memory
	refuse bool
}

func (c *charging) Charge(bytes int64) (func(), error) {
	if c.refuse {
		return nil, errRoom
	}
	c.charged += bytes
	return func() { c.charged -= bytes }, nil
}

func TestDecodersChargeTheirWindows(t *testing.T) {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(32<<20), zstd.WithEncoderConcurrency(1))
	must(t, err)
	for range 3000 {
		_, err := w.Write(letters[:1000])
		must(t, err)
	}
	must(t, w.Close())
	p := plan(t, input.Options{}, write(t, "f.zst", b.Bytes()))
	m := &charging{}
	r := p.Open(p.Splits[0], m)
	if !r.Next() || m.charged != 32<<20 {
		t.Errorf("charged %d, %v", m.charged, r.Close())
	}
	r.Close()
	if m.charged != 0 {
		t.Errorf("%d bytes still charged", m.charged)
	}
	// A frame of one segment has no window size; its window is its content.
	encoder, err := zstd.NewWriter(nil, zstd.WithSingleSegment(true))
	must(t, err)
	text := sampleText(3<<20 - 100)
	text = slices.Concat(text, text, text, text)
	one := plan(t, input.Options{BlockBytes: 64 << 20}, write(t, "f.zst", encoder.EncodeAll(text, nil)))
	r = one.Open(one.Splits[0], m)
	if !r.Next() || m.charged != int64(len(text)) {
		t.Errorf("charged %d for one segment, %v", m.charged, r.Close())
	}
	r.Close()
	for _, m := range []input.Memory{&charging{refuse: true}, &memory{}} {
		r := p.Open(p.Splits[0], m)
		if r.Next() || !strings.Contains(r.Close().Error(), "f.zst: ") {
			t.Errorf("a window of 32 MiB without memory: %v", r.Close())
		}
		r.Close()
	}
}

// The dictionary of each block is charged before it is allocated, in later streams
// too.
func TestDictionariesOfXZAreCharged(t *testing.T) {
	small, err := os.ReadFile("testdata/xz-5.4.1.xz")
	must(t, err)
	large, err := os.ReadFile("testdata/xz-5.4.1-9e.xz")
	must(t, err)
	padding := make([]byte, 12)
	p := plan(t, input.Options{}, write(t, "f", slices.Concat(small, padding, large, small)))
	m := &charging{}
	r := p.Open(p.Splits[0], m)
	if !r.Next() || string(r.Block().Data) != strings.Repeat(bzip2Text, 3) || m.charged != 64<<20 {
		t.Errorf("charged %d, %v", m.charged, r.Close())
	}
	r.Close()
	if m.charged != 0 {
		t.Errorf("%d bytes still charged", m.charged)
	}
	r = p.Open(p.Splits[0], &charging{refuse: true})
	defer r.Close()
	if r.Next() || !errors.Is(r.Close(), errRoom) || !strings.Contains(r.Close().Error(), "f: no room") {
		t.Error(r.Close())
	}
}
