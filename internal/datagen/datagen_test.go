package datagen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"mrlocal/internal/errs"
	"mrlocal/internal/testkit"
)

func make1(t testing.TB, k Kind, size int64, seed uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(t.Context(), k, &b, size, seed); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The expected values are the first keys, and the first letters of the fillers, of TeraGen in
// Hadoop 0.20.
func TestRecordsAreTeraGens(t *testing.T) {
	data := make1(t, Records, 3_000_000, 1)
	keys := []string{".t^#\\|v$2\\", "75@~?'WdUF", "w[o||:N&H,", "^Eu)<n#kdP"}
	for i, key := range keys {
		row := string(data[i*100 : i*100+100])
		want := key + fmt.Sprintf("%10d", i) + string("AIQY"[i])
		if !strings.HasPrefix(row, want) {
			t.Errorf("row %d: %q does not begin with %q", i, row, want)
		}
	}
	state := uint32(0)
	for i := 0; i*100 < len(data); i++ {
		row := data[i*100 : i*100+100]
		var key []byte
		for range 3 {
			state = state*lcgMul + lcgInc
			x := state / 52
			var four [4]byte
			for j := 3; j >= 0; j-- {
				four[j] = byte(' ' + x%95)
				x /= 95
			}
			key = append(key, four[:]...)
		}
		filler := make([]byte, 0, 80)
		for j := range 8 {
			filler = append(filler, bytes.Repeat([]byte{byte('A' + (i*8+j)%26)}, 10)...)
		}
		want := fmt.Sprintf("%s%10d%s\r\n", key[:10], i, filler[:78])
		if string(row) != want {
			t.Fatalf("row %d: %q, not %q", i, row, want)
		}
	}
}

func TestSizesAreExact(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, much data")
	}
	for _, k := range Kinds() {
		g, err := k.generator(7)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int64{0, 1, 2, 99, 100, 5000, textUnitBytes - 1, textUnitBytes, textUnitBytes + 1, 3_500_001} {
			want := size
			if k == Records {
				want = size / 100 * 100
			}
			var b bytes.Buffer
			if err := writeUnits(t.Context(), g, &b, 0, k.bytes(size)); err != nil {
				t.Fatal(err)
			}
			data := b.Bytes()
			if int64(len(data)) != want {
				t.Errorf("%s: %d bytes of %d", k, len(data), size)
			}
			if len(data) > 0 && data[len(data)-1] != '\n' {
				t.Errorf("%s of %d bytes does not end with a newline", k, size)
			}
			if !utf8.Valid(data) {
				t.Errorf("%s of %d bytes is not UTF-8", k, size)
			}
			if bytes.IndexByte(data, 0) >= 0 {
				t.Errorf("%s of %d bytes has a NUL", k, size)
			}
		}
	}
}

func TestSameSeedSameBytesOnAnyNumberOfCores(t *testing.T) {
	size := int64(3 << 20)
	if testing.Short() {
		size /= 2
	}
	for _, k := range Kinds() {
		a := make1(t, k, size, 3)
		old := runtime.GOMAXPROCS(1)
		b := make1(t, k, size, 3)
		runtime.GOMAXPROCS(old)
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs between runs", k)
		}
		if c := make1(t, k, size, 4); bytes.Equal(a, c) {
			t.Errorf("%s is the same for two seeds", k)
		}
	}
}

func TestWikiLooksLikeOne(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, much data")
	}
	data := make1(t, Wiki, 4<<20, 1)
	for _, want := range []string{"\n= ", "\n== ", "{{Infobox ", "[[", "|", "'''", "[[Category:", "{{cite web|", "\n* [["} {
		if n := bytes.Count(data, []byte(want)); n < 20 {
			t.Errorf("%q occurs %d times", want, n)
		}
	}
	distinct := map[string]int{}
	for w := range bytes.FieldsSeq(data) {
		distinct[string(w)]++
	}
	if len(distinct) < 50_000 || distinct["the"] < 10_000 {
		t.Errorf("%d different words, %d times the", len(distinct), distinct["the"])
	}
	high := 0
	for _, c := range data {
		if c >= 0x80 {
			high++
		}
	}
	if high < len(data)/2000 || high > len(data)/20 {
		t.Errorf("%d of %d bytes outside ASCII", high, len(data))
	}
}

func TestCorpusLooksLikeOne(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, much data")
	}
	const size = 8 << 20
	data := make1(t, Corpus, size, 1)
	lines := bytes.Split(data, []byte("\n"))
	var short, indented, the int
	different := map[string]bool{}
	for _, line := range lines {
		different[string(line)] = true
		if len(line) < 12 {
			short++
		}
		if bytes.HasPrefix(line, []byte("  ")) || bytes.HasPrefix(line, []byte("\t")) {
			indented++
		}
		if bytes.Contains(line, []byte("the")) {
			the++
		}
	}
	for _, c := range []struct {
		what        string
		n, of       int
		least, most float64
	}{
		{"bytes a line", size, len(lines), 38, 44},
		{"words a line", len(bytes.Fields(data)), len(lines), 4, 6},
		{"short lines", short, len(lines), 0.15, 0.3},
		{"indented lines", indented, len(lines), 0.5, 0.8},
		{"lines with a common word", the, len(lines), 0.28, 0.38},
		{"different lines", len(different), len(lines), 0.6, 0.8},
	} {
		if got := float64(c.n) / float64(c.of); got < c.least || got > c.most {
			t.Errorf("%s: %.2f, want %.2f to %.2f", c.what, got, c.least, c.most)
		}
	}
	if !testkit.Long() {
		return
	}
	if n := bytes.Count(make1(t, Corpus, 128<<20, 1), []byte(rareLiteral)); n != 2 {
		t.Errorf("the rare literal stands %d times in 128 MiB, want 2", n)
	}
}

func TestWikiDirectoryIsTheSameTextInSeveralFiles(t *testing.T) {
	const size = 9<<20 + 77
	dir := filepath.Join(t.TempDir(), "wiki")
	if err := Generate(t.Context(), Wiki, dir, size, 5); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != wikiFiles {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	var all []byte
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	if !bytes.Equal(all, make1(t, Wiki, size, 5)) {
		t.Error("the files are not what Write writes")
	}
}

func TestWrongDestinationsAreRefusedAndLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	writeFile := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := writeFile("file")
	if err := os.Mkdir(filepath.Join(dir, "full"), 0o777); err != nil {
		t.Fatal(err)
	}
	writeFile("full/x")
	cases := map[string]struct {
		kind Kind
		dst  string
		size int64
	}{
		"a directory that is not empty": {Wiki, filepath.Join(dir, "full"), 10},
		"a wiki over a file":            {Wiki, file, 10},
		"lines over a directory":        {Lines, filepath.Join(dir, "full"), 10},
		"no such parent":                {Words, filepath.Join(dir, "none", "x"), 10},
		"a negative size":               {Words, filepath.Join(dir, "x"), -1},
		"no such kind":                  {"wikis", filepath.Join(dir, "x"), 1},
		"no name":                       {Words, "", 1},
	}
	for name, c := range cases {
		if err := Generate(t.Context(), c.kind, c.dst, c.size, 1); !errs.IsUsage(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("stop")
	cancel(cause)
	for _, k := range Kinds() {
		if err := Generate(ctx, k, filepath.Join(dir, "y"), 10<<20, 1); !errors.Is(err, cause) {
			t.Errorf("%s, stopped: %v", k, err)
		}
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestGenerateReplacesAFile(t *testing.T) {
	dst := filepath.Join(t.TempDir(), "-lines")
	for _, size := range []int64{100, 50} {
		if err := Generate(t.Context(), Lines, dst, size, 0); err != nil {
			t.Fatal(err)
		}
		if fi, err := os.Stat(dst); err != nil || fi.Size() != size || fi.Mode().Perm() != 0o644 {
			t.Fatal(fi, err)
		}
	}
}

func TestGenerateFollowsALink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, nil, 0o644), os.Symlink("file", link)); err != nil {
		t.Fatal(err)
	}
	if err := Generate(t.Context(), Lines, link, 100, 0); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != "file" {
		t.Error("the link was replaced:", to, err)
	}
	if fi, err := os.Stat(file); err != nil || fi.Size() != 100 {
		t.Error(fi, err)
	}
}

type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestWriteStopsAtTheFirstError(t *testing.T) {
	if err := Write(t.Context(), Words, &failing{left: 3}, 64<<20, 1); !errors.Is(err, io.ErrShortWrite) {
		t.Fatal(err)
	}
}

// The work of one core, without writing.
func BenchmarkFill(b *testing.B) {
	for _, k := range Kinds() {
		b.Run("kind="+string(k), func(b *testing.B) {
			g, err := k.generator(1)
			if err != nil {
				b.Fatal(err)
			}
			buf := make([]byte, g.unitBytes()+overrunBytes)
			b.SetBytes(int64(g.unitBytes()))
			b.ReportAllocs()
			unit := int64(0)
			for b.Loop() {
				g.fill(buf[:g.unitBytes()], unit)
				unit++
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, k := range Kinds() {
		b.Run("kind="+string(k), func(b *testing.B) {
			const size = 128 << 20
			b.SetBytes(size)
			for b.Loop() {
				if err := Write(b.Context(), k, io.Discard, size, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestFillOfWordsAllocatesNothing(t *testing.T) {
	for _, k := range []Kind{Lines, Words, Records} {
		g, err := k.generator(1)
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, g.unitBytes()+overrunBytes)
		if n := testing.AllocsPerRun(3, func() { g.fill(buf[:g.unitBytes()], 3) }); n > 0 {
			t.Errorf("%s: %v allocations per unit", k, n)
		}
	}
}

func BenchmarkNewVocabulary(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newVocabulary()
	}
}
