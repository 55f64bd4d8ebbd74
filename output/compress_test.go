package output

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	stdgzip "compress/gzip"
	stdzlib "compress/zlib"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"mrlocal/internal/errs"
	"mrlocal/internal/testkit"
)

const blockBytes = 1 << 20 // as in package output

// unpack decodes a compressed result. If there are other decoders than those of the package, it
// uses them.
func unpack(t testing.TB, c Format, data []byte) []byte {
	t.Helper()
	var r io.Reader
	switch c {
	case None:
		return data
	case Gzip:
		z, err := stdgzip.NewReader(bytes.NewReader(data))
		must(t, err)
		r = z
	case Bzip2:
		r = stdbzip2.NewReader(bytes.NewReader(data))
	case Deflate: // it reads one stream alone
		z, err := stdzlib.NewReader(bytes.NewReader(data))
		must(t, err)
		r = z
	case Zstd:
		z, err := zstd.NewReader(bytes.NewReader(data))
		must(t, err)
		defer z.Close()
		r = z
	}
	text, err := io.ReadAll(r)
	must(t, err)
	return text
}

// packedAlone compresses a whole text with one Writer.
func packedAlone(t testing.TB, c Format, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	m, err := NewCompressor(c, &b)
	must(t, err)
	_, err = m.Write(text)
	must(t, err)
	must(t, m.Close())
	return b.Bytes()
}

// lineText returns the text of part i, which compresses well.
func lineText(i, bytes int) []byte {
	var text []byte
	for n := 0; len(text) < bytes; n++ {
		text = fmt.Appendf(text, "part %d line %d\n", i, n*n%977)
	}
	return text[:bytes]
}

// The bytes of a compressed result in order depend only on its text. Neither failed
// attempts nor the number of blocks that are compressed at a time change them.
func TestCompressedBytesDependOnTheTextAlone(t *testing.T) {
	large, small := newKit(t, 64<<20), newKit(t, 1<<20)
	testkit.Check(t, func(rt *rapid.T) {
		w := rapid.SampledFrom([]*kit{large, small}).Draw(rt, "memory")
		texts := make([][]byte, rapid.IntRange(1, 4).Draw(rt, "parts"))
		var want []byte
		for i := range texts {
			n := rapid.SampledFrom([]int{0, 0, 1, 1000, 1000, 200 << 10, blockBytes - 1000, blockBytes, blockBytes + 5}).Draw(rt, "bytes")
			texts[i] = lineText(i, n)
			want = append(want, texts[i]...)
		}
		format := rapid.SampledFrom([]Format{Gzip, Zstd, Gzip, Zstd, Deflate, Bzip2}).Draw(rt, "format")
		name := "result" + format.Suffix()
		var out bytes.Buffer
		spec := rapid.SampledFrom([]Spec{{Stdout: &out, Compress: format}, {File: w.path(name), Compress: format}}).Draw(rt, "place")
		parts := w.parts(len(texts))
		parts.Compressors = rapid.IntRange(0, 3).Draw(rt, "compressors")
		target := w.begin(spec, parts)
		if parallel, err := target.SetSizes(make([]int64, len(texts))); parallel || err != nil {
			rt.Fatalf("SetSizes: %v, %v", parallel, err)
		}
		playAttempts(rt, target, texts, true)
		must(w.t, target.Commit())
		got := out.Bytes()
		if spec.File != "" {
			got = []byte(w.read(name))
			must(w.t, os.Remove(spec.File))
		}
		if !bytes.Equal(unpack(t, format, got), want) {
			rt.Fatalf("%v: the text is not the parts one after the other", spec)
		}
		if !bytes.Equal(got, packedAlone(t, format, want)) {
			rt.Fatalf("%v: %d bytes differ from those of the text alone", spec, len(got))
		}
	})
}

func TestPartFilesAreCompressedAndNamedAsInHadoop(t *testing.T) {
	for format, suffix := range map[Format]string{Gzip: ".gz", Zstd: ".zst", Bzip2: ".bz2", Deflate: ".deflate"} {
		w := newKit(t, 8<<20)
		for range 2 { // the second directory replaces the first one
			target := w.begin(Spec{Dir: w.path("out"), Compress: format, Overwrite: true}, w.parts(2))
			text := lineText(0, blockBytes+100)
			a, err := target.Attempt(0, 0)
			put(t, a, err, string(text[:50]))
			rival, err := target.Attempt(0, 1)
			must(t, put(t, rival, err, string(text)).Commit())
			a.Abort()
			b, err := target.Attempt(1, 0) // an empty part
			must(t, err)
			must(t, b.Commit())
			must(t, target.Commit())
			mustList(t, tree(t, w.path("out")), "_SUCCESS", "part-r-00000"+suffix, "part-r-00001"+suffix)
			if got := []byte(w.read("out/part-r-00000" + suffix)); !bytes.Equal(got, packedAlone(t, format, text)) {
				t.Errorf("%s: a part differs from its text compressed alone", suffix)
			}
			if got := []byte(w.read("out/part-r-00001" + suffix)); len(got) == 0 || len(unpack(t, format, got)) != 0 {
				t.Errorf("%s: an empty part is %q", suffix, got)
			}
		}
	}
}

func TestACompressedResultWithoutTextIsOneEmptyMember(t *testing.T) {
	for _, parts := range []int{0, 1} {
		w := newKit(t, 8<<20)
		target := w.begin(Spec{File: w.path("e.zst")}, w.parts(parts))
		target.Seal(parts)
		for i := range parts {
			p, err := target.Part(i, 0)
			must(t, err)
			must(t, p.Commit())
		}
		must(t, target.Commit())
		if got := []byte(w.read("e.zst")); !bytes.Equal(got, packedAlone(t, Zstd, nil)) || len(got) == 0 || len(unpack(t, Zstd, got)) != 0 {
			t.Errorf("%d parts: %q", parts, got)
		}
	}
}

// newKit checks that no memory and no temporary file is left. TestMain checks that no goroutine
// is left.
func TestAnAbortedCompressedResultLeavesNothing(t *testing.T) {
	for _, memoryBytes := range []int64{1 << 20, 64 << 20} {
		for _, spec := range []Spec{{File: "r.gz"}, {Dir: "d", Compress: Zstd}} {
			w := newKit(t, memoryBytes)
			if spec.Dir != "" {
				spec.Dir = w.path("d")
			} else {
				spec.File = w.path("r.gz")
			}
			p := w.parts(2)
			p.Compressors = 3
			target := w.begin(spec, p)
			begin := target.Part
			if spec.Dir != "" {
				begin = target.Attempt
			}
			a, err := begin(0, 0)
			put(t, a, err, string(lineText(0, 5*blockBytes+9)))
			b, err := begin(1, 0)
			put(t, b, err, string(lineText(1, 2*blockBytes)))
			must(t, target.Abort())
			if _, err := a.Write([]byte("more")); err == nil && a.Commit() == nil {
				t.Error("an attempt commits after the abort")
			}
			a.Abort()
			b.Abort()
			mustList(t, w.list())
		}
	}
}

func TestASuffixChoosesTheCompression(t *testing.T) {
	for name, want := range map[string]Format{
		"": None, "a": None, "a.txt": None, "a.gz": Gzip, "a.b.GZ": Gzip, "a.gz/b": None, "a.zst": Zstd, ".gz": Gzip,
	} {
		if got, err := BySuffix.Of(name); got != want || err != nil {
			t.Errorf("%q: %v, %v; want %v", name, got, err, want)
		}
	}
	for suffix := range strings.FieldsSeq(".bz2 .xz .XZ .lz4 .lzma .lz .lzo .br .Z .zip .7z .rar .s2 .zstd .tgz") {
		if _, err := Open(Spec{File: t.TempDir() + "/r" + suffix}); !errs.IsUsage(err) || !strings.Contains(err.Error(), strings.ToLower(suffix)) {
			t.Errorf("%s: %v", suffix, err)
		}
		for _, c := range []Format{None, Gzip, Zstd, Bzip2, Deflate} {
			if got, err := c.Of("r" + suffix); got != c || err != nil {
				t.Errorf("%s: %v, %v; want %v", suffix, got, err, c)
			}
		}
	}
	if got, err := None.Of("r.gz"); got != None || err != nil {
		t.Errorf("plain text in r.gz: %v, %v", got, err)
	}
}

// With DirStyle.OmitEmpty, an attempt that has written nothing has no file. A codec writes some bytes for an empty
// text.
func TestACompressedPartWithoutTextIsOmitted(t *testing.T) {
	for _, format := range []Format{Gzip, Zstd, Bzip2, Deflate} {
		w := newKit(t, 8<<20)
		target := w.begin(Spec{Dir: w.path("out"), Compress: format, DirStyle: DirStyle{OmitEmpty: true}}, w.parts(2))
		for i, text := range []string{"", "text"} {
			p, err := target.Attempt(i, 0)
			must(t, put(t, p, err, text).Commit())
		}
		must(t, target.Commit())
		mustList(t, tree(t, w.path("out")), "_SUCCESS", "part-r-00001"+format.Suffix())
	}
}
