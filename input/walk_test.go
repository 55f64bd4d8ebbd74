package input_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mrlocal/input"
	"mrlocal/internal/errs"
)

// tree makes files (the content is the name), directories (the name ends with
// /) and links (a -> b) below a new directory, and changes to it.
func tree(t *testing.T, names ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range names {
		if link, target, ok := strings.Cut(name, " -> "); ok {
			must(t, os.MkdirAll(filepath.Dir(link), 0o777))
			must(t, os.Symlink(target, link))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(name), 0o777))
		if !strings.HasSuffix(name, "/") {
			must(t, os.WriteFile(name, []byte(name), 0o666))
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func paths(p *input.Plan) (all []string) {
	for i := range p.Files {
		all = append(all, p.Files[i].Path)
	}
	return all
}

func TestPathsAreFoundInOrder(t *testing.T) {
	cases := map[string]struct {
		tree, args, want []string
		notes            int
		all              bool
	}{
		"files in the order given":            {[]string{"b", "a"}, []string{"b", "a"}, []string{"b", "a"}, 0, false},
		"the same file twice":                 {[]string{"a"}, []string{"a", "a"}, []string{"a", "a"}, 0, false},
		"a directory by the paths' bytes":     {[]string{"d/a/x", "d/a.txt", "d/Z", "d/a-b"}, []string{"d"}, []string{"d/Z", "d/a-b", "d/a.txt", "d/a/x"}, 0, false},
		"a directory named with a slash":      {[]string{"d/a"}, []string{"d/"}, []string{"d/a"}, 0, false},
		"the directory itself":                {[]string{"a"}, []string{"."}, []string{"./a"}, 0, false},
		"hidden names are skipped":            {[]string{"d/.a", "d/_b", "d/c", "d/.d/e"}, []string{"d"}, []string{"d/c"}, 1, false},
		"hidden names with --all":             {[]string{"d/.a", "d/_b", "d/c"}, []string{"d"}, []string{"d/.a", "d/_b", "d/c"}, 0, true},
		"a hidden name that is named":         {[]string{".a", "_b/c"}, []string{".a", "_b"}, []string{".a", "_b/c"}, 0, false},
		"a glob by the paths' bytes":          {[]string{"a.txt", "a/b", "c", "A"}, []string{"[aA]*"}, []string{"A", "a.txt", "a/b"}, 0, false},
		"a glob does not match a leading dot": {[]string{".a", "b"}, []string{"*"}, []string{"b"}, 1, false},
		"a glob that begins with a dot":       {[]string{".a", "b"}, []string{".?"}, []string{".a"}, 0, false},
		"what exists is not a glob":           {[]string{"a[1]", "a1"}, []string{"a[1]"}, []string{"a[1]"}, 0, false},
		"blanks, newlines, a leading dash":    {[]string{"a b", "c\nd", "-e"}, []string{"a b", "c\nd", "-e"}, []string{"a b", "c\nd", "-e"}, 0, false},
		"links to files and directories":      {[]string{"x/f", "d/l -> ../x", "d/m -> ../x/f"}, []string{"d"}, []string{"d/l/f", "d/m"}, 0, false},
		"a linked directory among files":      {[]string{"x/f", "d/a0", "d/a -> ../x", "d/a.c", "d/a-b"}, []string{"d"}, []string{"d/a-b", "d/a.c", "d/a/f", "d/a0"}, 0, false},
		"names that begin alike":              {[]string{"d/12345678a", "d/12345678/f", "d/12345678.x/f", "d/12345678-"}, []string{"d"}, []string{"d/12345678-", "d/12345678.x/f", "d/12345678/f", "d/12345678a"}, 0, false},
		"a directory link that leads back":    {[]string{"d/f", "d/l -> ../d"}, []string{"d"}, []string{"d/f"}, 1, false},
		"a link to itself in a directory":     {[]string{"d/f", "d/l -> l"}, []string{"d"}, []string{"d/f"}, 1, false},
		"an empty directory is noted":         {[]string{"d/"}, []string{"d"}, nil, 1, false},
		"one directory twice through a link":  {[]string{"d/a/f", "d/b -> a"}, []string{"d"}, []string{"d/a/f", "d/b/f"}, 0, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tree(t, c.tree...)
			p := plan(t, input.Options{All: c.all}, c.args...)
			if d := cmp.Diff(c.want, paths(p)); d != "" {
				t.Error(d)
			}
			if len(p.Notes) != c.notes {
				t.Errorf("notes: %q", p.Notes)
			}
			readAll(t, p, '\n')
		})
	}
}

func TestWrongInputIsRefusedBeforeAnythingStarts(t *testing.T) {
	tree(t, "f", "d/dangling -> nowhere", "dangling -> nowhere", "loop -> loop", "s/", "bad\nname -> gone")
	l, err := net.Listen("unix", "s/socket")
	must(t, err)
	defer l.Close()
	cases := map[string]struct{ path, says string }{
		"a missing file":                {"none", "no such file"},
		"a glob without match":          {"none*", "no file matches"},
		"a pattern that is none":        {"[", "syntax error"},
		"a dangling link":               {"dangling", "dangling link to nowhere"},
		"a dangling link inside":        {"d", "d/dangling: dangling link"},
		"a loop that is named":          {"loop", "leads back"},
		"a socket":                      {"s/socket", "is a socket"},
		"a socket inside":               {"s", "s/socket: is a socket"},
		"a device":                      {"/dev/zero", "is a device"},
		"an empty path":                 {"", "empty path"},
		"a file taken as directory":     {"f/x", "not a directory"},
		"no standard input":             {"-", "no standard input"},
		"a name of two lines":           {"bad\nname", `"bad\nname": dangling`},
		"a name that is too long":       {strings.Repeat("x", 5000), "name too long"},
		"a path with a NUL byte inside": {"a\x00b", "invalid argument"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := input.NewPlan([]string{"f", c.path}, input.Options{})
			if !errs.IsUsage(err) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, not %q", err, c.says)
			}
		})
	}
	if _, err := input.NewPlan(nil, input.Options{}); !errs.IsUsage(err) {
		t.Errorf("no paths: %v", err)
	}
}

func TestUnreadableInputIsRefused(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	tree(t, "f", "d/x")
	must(t, os.Chmod("f", 0))
	must(t, os.Chmod("d", 0))
	defer os.Chmod("d", 0o777)
	for _, path := range []string{"f", "d"} {
		if _, err := input.NewPlan([]string{path}, input.Options{}); !errs.IsUsage(err) || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestSmallFilesShareASplitUpToTheBlockSize(t *testing.T) {
	t.Chdir(t.TempDir())
	for i := range 200 {
		must(t, os.WriteFile(fmt.Sprintf("f%03d", i), []byte(strings.Repeat("x", i)), 0o666))
	}
	p := plan(t, input.Options{}, ".")
	if len(p.Splits) != 1 || len(p.Splits[0].Pieces) != 200 {
		t.Errorf("%d splits", len(p.Splits))
	}
	p = plan(t, input.Options{BlockBytes: 4 << 10}, ".")
	total, files := int64(0), 0
	for i, s := range p.Splits {
		if s.Bytes > 4<<10 {
			t.Errorf("split %d has %d bytes", i, s.Bytes)
		}
		if int(s.Pieces[0].File) != files {
			t.Errorf("split %d: %+v", i, s)
		}
		total += s.Bytes
		files += len(s.Pieces)
	}
	if total != 199*100 || files != 200 || len(p.Splits) > 20 {
		t.Errorf("%d bytes in %d files in %d splits", total, files, len(p.Splits))
	}
	readAll(t, p, '\n')
}

// Hadoop 1.0.3, FileInputFormat, with blocks of 64 MB: a file of 64.1 MB is one split,
// one of 71 MB is two. Here in KiB.
func TestTaperedSplitsShrinkTowardsTheEnd(t *testing.T) {
	t.Chdir(t.TempDir())
	for i := range 300 {
		f, err := os.Create(fmt.Sprintf("%03d", i))
		must(t, err)
		must(t, errors.Join(f.Truncate(int64(500+i%7)<<10), f.Close()))
	}
	for _, taper := range []bool{false, true} {
		p := plan(t, input.Options{MapSlots: 2, Taper: taper}, ".")
		files := 0
		for _, s := range p.Splits {
			for _, piece := range s.Pieces {
				if int(piece.File) != files || piece.Start != 0 || piece.End != p.Files[files].Bytes {
					t.Fatalf("%+v where file %d is wanted whole", piece, files)
				}
				files++
			}
		}
		if files != len(p.Files) {
			t.Errorf("%d of %d files", files, len(p.Files))
		}
		for i, s := range p.Splits[1:] {
			if taper && s.Bytes > p.Splits[i].Bytes+1<<20 {
				t.Errorf("split %d has %d bytes, the one before %d", i+1, s.Bytes, p.Splits[i].Bytes)
			}
		}
		first, last := p.Splits[0].Bytes, p.Splits[len(p.Splits)-1].Bytes
		if taper && (last > 5<<20 || len(p.Splits) > 40) || first < 16<<20 {
			t.Errorf("taper %v: %d splits, from %d to %d bytes", taper, len(p.Splits), first, last)
		}
	}
	if p := plan(t, input.Options{MapSlots: 2, Taper: true, BlockBytes: 16 << 20}, "."); len(p.Splits) > 11 {
		t.Errorf("%d splits, where the user wants them of 16 MiB", len(p.Splits))
	}
}

func TestTheLastSplitMayBeATenthLonger(t *testing.T) {
	for size, want := range map[int]int{64_100: 1, 70_400: 1, 70_500: 2, 71_000: 2, 128_000: 2, 134_000: 2, 135_000: 3} {
		path := write(t, "f", make([]byte, size))
		if p := plan(t, input.Options{BlockBytes: 64_000}, path); len(p.Splits) != want {
			t.Errorf("%d bytes: %d splits, not %d", size, len(p.Splits), want)
		}
	}
}

func TestBlocksAreChosenByTheWork(t *testing.T) {
	path := write(t, "f", nil)
	for sizeMiB, want := range map[int64][2]int64{3: {1 << 20, 3}, 64: {4 << 20, 16}, 4096: {64 << 20, 64}} {
		must(t, os.Truncate(path, sizeMiB<<20))
		p := plan(t, input.Options{MapSlots: 4}, path)
		if n := int64(len(p.Splits)); n < want[1]-1 || n > want[1]+1 || p.BlockBytes() < want[0] || p.BlockBytes() > want[0]+64<<10 {
			t.Errorf("%d MiB: %d splits of %d bytes", sizeMiB, len(p.Splits), p.BlockBytes())
		}
	}
	must(t, os.Truncate(path, 1<<33))
	p := plan(t, input.Options{BlockBytes: 1 << 10}, path)
	if len(p.Splits) > 1<<18 || len(p.Notes) != 1 {
		t.Errorf("%d splits, notes %q", len(p.Splits), p.Notes)
	}
}

func TestAPlanKnowsItsFilesAndDirectories(t *testing.T) {
	tree(t, "d/e/f", "g", "other/x")
	p := plan(t, input.Options{}, "d", "g")
	for path, want := range map[string]bool{"d": true, "d/e": true, "d/e/f": true, "g": true, "other": false, "other/x": false, ".": false} {
		fi, err := os.Stat(path)
		must(t, err)
		file, isFile := p.File(fi)
		dir, isDir := p.Directory(fi)
		if isFile != (want && !fi.IsDir()) || isDir != (want && fi.IsDir()) || want && file+dir != path {
			t.Errorf("%s is the file %q %v, the directory %q %v", path, file, isFile, dir, isDir)
		}
	}
	must(t, os.Link("g", "hard"))
	fi, err := os.Stat("hard")
	must(t, err)
	if _, ok := p.File(fi); !ok {
		t.Error("a hard link to an input is not known")
	}
}

// An empty input has a note that says why it is empty.
func TestADirectoryWithoutFilesIsExplained(t *testing.T) {
	for names, want := range map[string][]string{
		"":           {"no files in DIR"},
		".a":         {"no files in DIR but 1 name starting with . or _ (the option all takes them)"},
		".a _b _c/d": {"no files in DIR but 3 names starting with . or _ (the option all takes them)"},
		"a/_b":       {"no files in DIR but 1 name starting with . or _ (the option all takes them)"},
		".a b":       {"skipped 1 name starting with . or _ (the option all takes them)"},
	} {
		dir := t.TempDir()
		for _, name := range strings.Fields(names) {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
			writeTo(t, filepath.Join(dir, name), nil)
		}
		p := plan(t, input.Options{}, dir)
		for i, note := range p.Notes {
			p.Notes[i] = strings.Replace(note, dir, "DIR", 1)
		}
		if !slices.Equal(p.Notes, want) {
			t.Errorf("%q: %q; want %q", names, p.Notes, want)
		}
	}
}
