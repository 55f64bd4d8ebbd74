package streaming

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// write writes a file in a temporary directory.
func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// lines reads the lines of a split by Next, or also by Chunk where Chunk returns some.
func lines(t testing.TB, s FileSplit, chunks bool, o ReaderOptions) []string {
	t.Helper()
	r, err := Open(s, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []string
	for {
		if chunks {
			text, n, err := r.Chunk()
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				all = append(all, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
			}
		}
		line, _, ok, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return all
		}
		all = append(all, string(line))
	}
}

func TestEachLineBelongsToOneSplit(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "bb", "ccc", "", "\n", "\r", "\r\n", "dddddddddd"}), 0, 40).Draw(rt, "text"), "")
		path := write(t, dir, "in", text)
		splits, err := Plan([]string{path}, SplitOptions{Maps: rapid.Int64Range(1, 9).Draw(rt, "maps"), BlockBytes: rapid.Int64Range(1, 64).Draw(rt, "block")})
		if err != nil {
			rt.Fatal(err)
		}
		whole := lines(t, FileSplit{Path: path, Length: int64(len(text))}, false, ReaderOptions{})
		slices.SortFunc(splits, func(a, b FileSplit) int { return int(a.Start - b.Start) })
		for _, chunks := range []bool{false, true} {
			var all []string
			for _, s := range splits {
				all = append(all, lines(t, s, chunks, ReaderOptions{})...)
			}
			// Where a split begins between CR and LF, Hadoop too sees an empty line.
			if !strings.Contains(text, "\r\n") && !slices.Equal(all, whole) {
				rt.Fatalf("chunks %t: %q, want %q", chunks, all, whole)
			}
		}
	})
}

func TestLinesAreCutAsHadoopCutsThem(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct {
		text string
		o    ReaderOptions
		want []string
	}{
		{"a\nb\n", ReaderOptions{}, []string{"a", "b"}},
		{"a\rb\r\nc", ReaderOptions{}, []string{"a", "b", "c"}},
		{"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ReaderOptions{}, []string{"a", "\xef\xbb\xbfb"}},
		{"\xef\xbb\xbf", ReaderOptions{}, nil},
		{"a;;b;c;;", ReaderOptions{Delimiter: []byte(";;")}, []string{"a", "b;c"}},
		{"1234\n1\n12345\n", ReaderOptions{MaxBytes: 5}, []string{"1"}},
		{"", ReaderOptions{}, nil},
		{strings.Repeat("x", 2*RecordBufferBytes) + "\ny", ReaderOptions{}, []string{strings.Repeat("x", 2*RecordBufferBytes), "y"}},
	} {
		path := write(t, dir, fmt.Sprint(i), c.text)
		for _, chunks := range []bool{false, true} {
			if got := lines(t, FileSplit{Path: path, Length: int64(len(c.text))}, chunks, c.o); !slices.Equal(got, c.want) {
				t.Errorf("%.40q, chunks %t: %.80q, want %.80q", c.text, chunks, got, c.want)
			}
		}
	}
}

func TestALineThatDoesNotFitAsksForMemory(t *testing.T) {
	path := write(t, t.TempDir(), "in", strings.Repeat("x", 3*RecordBufferBytes))
	full := errors.New("full")
	r, err := Open(FileSplit{Path: path, Length: 3 * RecordBufferBytes}, ReaderOptions{Charge: func(int64) error { return full }})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, _, _, err := r.Next(); !errors.Is(err, full) {
		t.Error(err)
	}
}

func TestInputsAreFoundAndDivided(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, dir, "d/b", "12345")
	write(t, dir, "d/a", "123")
	write(t, dir, "d/_x", "1")
	write(t, dir, "d/.y", "1")
	write(t, dir, "deep/sub/f", "1")
	write(t, dir, "e", "")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte("one\ntwo\n"))
	_ = z.Close()
	write(t, dir, "z.gz", packed.String())
	show := func(splits []FileSplit, err error) string {
		if err != nil {
			return strings.ReplaceAll(err.Error(), dir, "")
		}
		var all []string
		for _, s := range splits {
			all = append(all, fmt.Sprintf("%s:%d+%d", s.Path, s.Start, s.Length))
		}
		return strings.Join(all, " ")
	}
	big := SplitOptions{Maps: 1, BlockBytes: 1 << 20}
	for _, c := range []struct {
		in   []string
		o    SplitOptions
		want string
	}{
		{[]string{"d"}, big, "d/b:0+5 d/a:0+3"},
		{[]string{"file:" + dir + "/d/a"}, big, dir + "/d/a:0+3"},
		{[]string{"d/{a,b}", "e"}, big, "d/b:0+5 d/a:0+3 e:0+0"},
		{[]string{"d/*"}, big, "d/b:0+5 d/a:0+3"},
		{[]string{"d/b"}, SplitOptions{Maps: 2, BlockBytes: 1 << 20}, "d/b:0+2 d/b:2+2 d/b:4+1"},
		{[]string{"d/b"}, SplitOptions{Maps: 1, BlockBytes: 1 << 20, Lines: 1}, "d/b:0+4"},
		{[]string{"none", "d/q*"}, big, "Input path does not exist: file:/none\nInput Pattern file:/d/q* matches 0 files"},
		{[]string{"deep"}, big, "Not a file: file:/deep/sub"},
		{[]string{"deep"}, SplitOptions{Maps: 1, BlockBytes: 9, Recursive: true}, "deep/sub/f:0+1"},
	} {
		if got := show(Plan(c.in, c.o)); got != c.want {
			t.Errorf("%q: %s, want %s", c.in, got, c.want)
		}
	}
	splits, err := Plan([]string{"z.gz"}, SplitOptions{Maps: 9, BlockBytes: 4})
	if err != nil || len(splits) != 1 {
		t.Fatalf("%v %v", splits, err)
	}
	if got := lines(t, splits[0], true, ReaderOptions{}); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("%q", got)
	}
	write(t, dir, "w.gz", "no gzip")
	if _, err := Open(FileSplit{Path: "w.gz", Length: 7, Codec: ".gz"}, ReaderOptions{}); err == nil {
		t.Error("a file that is not gzip was opened")
	}
}

func TestElementsLieBetweenTheirMarks(t *testing.T) {
	text := "x<p>1</p><p>\n2</p><<p>3</p><p>4"
	path := write(t, t.TempDir(), "in", text)
	read := func(s FileSplit) (all []string) {
		x, err := OpenXML(s, "<p>", "</p>", ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		for {
			r, ok, err := x.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				return all
			}
			all = append(all, string(r))
		}
	}
	if got := read(FileSplit{Path: path, Length: int64(len(text))}); !slices.Equal(got, []string{"<p>1</p>", "<p>\n2</p>"}) {
		t.Errorf("%q", got) // the search does not find the mark in "<<p>"
	}
	if got := read(FileSplit{Path: path, Start: 5, Length: 3}); got != nil {
		t.Errorf("%q begins behind the split", got)
	}
}

// TestLinesAcrossBlocks has ends of lines, also of two bytes and such that overlap, at each place around
// the end of a block.
func TestLinesAcrossBlocks(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		end       string
		delimiter []byte
	}{"LF": {"\n", nil}, "CR": {"\r", nil}, "CR LF": {"\r\n", nil}, "CR CR LF": {"\r\r\n", nil}, "overlapping": {"aaa", []byte("aa")}, "three": {"ab;", []byte("ab;")}} {
		for _, at := range []int{1, 2, 3, 4, 5, 6} {
			line := strings.Repeat("x", RecordBufferBytes-at)
			text := line + c.end + "y" + c.end + line + c.end + "z"
			split := c.end
			if c.delimiter != nil {
				split = string(c.delimiter)
			}
			want := strings.Split(strings.ReplaceAll(text, "\r\r\n", "\r\n\r\n"), strings.ReplaceAll(split, "\r\r\n", "\r\n"))
			path := write(t, dir, "in", text)
			for _, chunks := range []bool{false, true} {
				got := lines(t, FileSplit{Path: path, Length: int64(len(text))}, chunks, ReaderOptions{Delimiter: c.delimiter})
				if !slices.Equal(got, want) {
					t.Errorf("%s, %d bytes before the end of the block, chunks %t: %d lines, want %d", name, at, chunks, len(got), len(want))
				}
			}
		}
	}
}
