package output

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrlocal/internal/errs"
	"mrlocal/internal/paths"
)

// Every refusal is an options error of one line, and leaves nothing behind.
func TestWhatIsRefusedBeforeAnythingRuns(t *testing.T) {
	for name, tc := range map[string]struct {
		make func(w *kit) Spec
		want string
	}{
		"a directory that exists": {func(w *kit) Spec {
			w.write("out/x", "")
			return Spec{Dir: w.path("out")}
		}, "exists already"},
		"an empty directory, even to overwrite": {func(w *kit) Spec {
			must(w.t, os.Mkdir(w.path("out"), 0o777))
			return Spec{Dir: w.path("out"), Overwrite: true}
		}, "mrlocal did not make it"},
		"a file where the directory should go": {func(w *kit) Spec {
			return Spec{Dir: w.write("out", ""), Overwrite: true}
		}, "not a directory"},
		"to overwrite a directory with a stranger's file": {func(w *kit) Spec {
			w.write("out/_SUCCESS", "")
			w.write("out/part-r-00000", "")
			w.write("out/notes\n.txt", "")
			return Spec{Dir: w.path("out"), Overwrite: true}
		}, `holds "notes\n.txt"`},
		"to overwrite a directory with a sub-directory named like a part": {func(w *kit) Spec {
			w.write("out/_SUCCESS", "")
			w.write("out/part-r-00000/x", "")
			return Spec{Dir: w.path("out"), Overwrite: true}
		}, "holds part-r-00000"},
		"to overwrite parts without a mark": {func(w *kit) Spec {
			w.write("out/part-r-00000", "")
			return Spec{Dir: w.path("out"), Overwrite: true}
		}, "mrlocal did not make it"},
		"to overwrite what Hadoop has not finished": {func(w *kit) Spec {
			w.write("out/_temporary/0/task_1/part-r-00001", "")
			w.write("out/part-r-00000", "")
			return Spec{Dir: w.path("out"), Overwrite: true}
		}, "holds _temporary/0"},
		"to overwrite what has an empty _temporary": {func(w *kit) Spec {
			w.write("out/part-r-00000", "")
			must(w.t, os.Mkdir(w.path("out/_temporary"), 0o777))
			return Spec{Dir: w.path("out"), Overwrite: true}
		}, "of another program"},
		"to overwrite a result in which another program has begun": {func(w *kit) Spec {
			w.write("out/_SUCCESS", "")
			w.write("out/_temporary/0/x", "")
			return Spec{Dir: w.path("out"), Overwrite: true}
		}, "holds _temporary/0"},
		"a directory that an interrupted run left, without overwrite": {func(w *kit) Spec {
			w.write("out/_temporary/attempt_r_000000_0/part-r-00000", "")
			w.write("out/_temporary/.mrlocal", "")
			return Spec{Dir: w.path("out")}
		}, "interrupted"},
		"to overwrite a directory that holds an input": {func(w *kit) Spec {
			w.write("out/_SUCCESS", "")
			in := w.write("out/part-r-00000", "")
			return Spec{Dir: w.path("out"), Overwrite: true, Inputs: []string{in}, Files: []string{in}}
		}, "holds the input"},
		"a file that is an input": {func(w *kit) Spec {
			in := w.write("in", "")
			return Spec{File: in, Inputs: []string{in}, Found: found{files: []string{in}}}
		}, "is the input"},
		"a file that is an input by another name": {func(w *kit) Spec {
			in := w.write("in", "")
			must(w.t, os.Link(in, w.path("other")))
			return Spec{File: w.path("other"), Inputs: []string{in}, Found: found{files: []string{in}}}
		}, "is the input"},
		"a file that is an input through a link": {func(w *kit) Spec {
			in := w.write("in", "")
			must(w.t, os.Symlink("in", w.path("link")))
			return Spec{File: w.path("link"), Inputs: []string{in}, Found: found{files: []string{in}}}
		}, "is the input"},
		"a file that standard input is read from": {func(w *kit) Spec {
			f, err := os.Open(w.write("in", ""))
			must(w.t, err)
			w.t.Cleanup(func() { f.Close() })
			return Spec{File: w.path("in"), Inputs: []string{"-"}, Stdin: f}
		}, "is the input (standard input)"},
		"a missing parent beyond a link and two dots": {func(w *kit) Spec {
			must(w.t, os.MkdirAll(w.path("a/b"), 0o777))
			must(w.t, os.Mkdir(w.path("c"), 0o777))
			must(w.t, os.Symlink("a/b", w.path("link")))
			return Spec{File: w.path("link") + "/../c/result"}
		}, "does not exist"},
		"a name of two lines, on one": {func(w *kit) Spec {
			return Spec{File: w.path("no/such\nplace")}
		}, `such\nplace": the directory`},
		"a file inside an input directory": {func(w *kit) Spec {
			in := w.write("in/a/x", "")
			return Spec{File: w.path("in/a/result"), Inputs: []string{w.path("in")}, Found: found{files: []string{in}}}
		}, "lies inside the input"},
		"a directory inside an input directory, the other way round a link": {func(w *kit) Spec {
			in := w.write("in/a/x", "")
			must(w.t, os.Symlink("in/a", w.path("link")))
			return Spec{Dir: w.path("link/out"), Inputs: []string{w.path("in")}, Files: []string{in}}
		}, "lies inside the input"},
		"a file inside a directory that a link in the input leads to": {func(w *kit) Spec {
			w.write("far/sub/x", "")
			must(w.t, os.Mkdir(w.path("in"), 0o777))
			must(w.t, os.Symlink("../far", w.path("in/link")))
			return Spec{File: w.path("far/result"), Inputs: []string{w.path("in")}, Found: found{dirs: []string{w.path("in"), w.path("in/link"), w.path("in/link/sub")}}}
		}, "lies inside the input"},
		"a file inside a directory that a glob matches": {func(w *kit) Spec {
			in := w.write("in1/x", "")
			return Spec{File: w.path("in1/result"), Inputs: []string{w.path("in*")}, Found: found{files: []string{in}}}
		}, "lies inside the input"},
		"the input directory itself": {func(w *kit) Spec {
			in := w.write("in/_SUCCESS", "")
			return Spec{Dir: w.path("in"), Overwrite: true, Inputs: []string{w.path("in")}, Files: []string{in}}
		}, "is the input"},
		"a missing parent": {func(w *kit) Spec {
			return Spec{File: w.path("no/such/result")}
		}, "does not exist"},
		"two dots behind a missing directory": {func(w *kit) Spec {
			return Spec{Dir: w.path("") + "/no/.."}
		}, "does not exist"},
		"two dots and a slash behind a missing directory": {func(w *kit) Spec {
			return Spec{Dir: w.path("") + "/no/../"}
		}, "does not exist"},
		"a directory above the missing ones that is a file": {func(w *kit) Spec {
			return Spec{Dir: filepath.Join(w.write("file", ""), "no/out")}
		}, "not a directory"},
		"a parent that is a file": {func(w *kit) Spec {
			return Spec{Dir: filepath.Join(w.write("file", ""), "out")}
		}, "not a directory"},
		"a file system that takes no files": {func(w *kit) Spec {
			return Spec{File: "/proc/result"}
		}, "output /proc/result: "},
		"a directory for a file": {func(w *kit) Spec {
			must(w.t, os.Mkdir(w.path("result"), 0o777))
			return Spec{File: w.path("result")}
		}, "is a directory"},
		"a file's name with a slash behind": {func(w *kit) Spec {
			return Spec{File: w.path("result") + "/"}
		}, "names a directory"},
		"a socket": {func(w *kit) Spec {
			must(w.t, os.Chdir(w.dir)) // the path of a socket must be short
			l, err := net.Listen("unix", "s")
			must(w.t, err)
			w.t.Cleanup(func() { l.Close(); os.Chdir("/") })
			return Spec{File: w.path("s")}
		}, "is a socket"},
		"a name that is too long": {func(w *kit) Spec {
			return Spec{File: w.path(strings.Repeat("x", 300))}
		}, "too long"},
		"a loop of links": {func(w *kit) Spec {
			must(w.t, os.Symlink("b", w.path("a")))
			must(w.t, os.Symlink("a", w.path("b")))
			return Spec{File: w.path("a")}
		}, "links"},
		"a name with a NUL byte": {func(w *kit) Spec {
			return Spec{File: w.path("a\x00b")}
		}, "invalid"},
		"standard output into an input": {func(w *kit) Spec {
			in := w.write("in", "text")
			f, err := os.OpenFile(in, os.O_WRONLY|os.O_APPEND, 0)
			must(w.t, err)
			w.t.Cleanup(func() { f.Close() })
			return Spec{Stdout: f, Inputs: []string{in}, Found: found{files: []string{in}}}
		}, "standard output"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newKit(t, 1<<20)
			spec := tc.make(w)
			before := tree(t, w.dir)
			target, err := Open(spec)
			if err == nil {
				err = target.Start()
				target.Abort()
			}
			if err == nil || !errs.IsUsage(err) || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want wrong usage with %q", err, tc.want)
			}
			mustList(t, tree(t, w.dir), before...)
		})
	}
}

func TestWhatIsAllowed(t *testing.T) {
	for name, make := range map[string]func(w *kit) Spec{
		"a file next to an input that was named itself": func(w *kit) Spec {
			in := w.write("in/x", "")
			return Spec{File: w.path("in/result"), Inputs: []string{in}, Found: found{files: []string{in}}}
		},
		"a directory next to an input directory with the same beginning": func(w *kit) Spec {
			in := w.write("in/x", "")
			return Spec{Dir: w.path("in2"), Inputs: []string{w.path("in")}, Files: []string{in}}
		},
		"to overwrite what an interrupted run left": func(w *kit) Spec {
			w.write("out/_temporary/attempt_r_000000_0/part-r-00000", "")
			w.write("out/_temporary/.mrlocal", "")
			return Spec{Dir: w.path("out"), Overwrite: true}
		},
		"to overwrite a file that is an input": func(w *kit) Spec {
			in := w.write("in", "")
			return Spec{File: in, Overwrite: true, Inputs: []string{in}, Found: found{files: []string{in}}}
		},
		"overwrite where there is nothing": func(w *kit) Spec {
			return Spec{Dir: w.path("out"), Overwrite: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newKit(t, 1<<20)
			target, err := Open(make(w))
			must(t, err)
			must(t, target.Start())
			target.Seal(0)
			must(t, target.Commit())
		})
	}
}

func TestADirectoryThatAnotherRunWritesIsNotReplaced(t *testing.T) {
	w := newKit(t, 1<<20)
	w.begin(Spec{Dir: w.path("out")}, w.parts(1))
	if _, err := Open(Spec{Dir: w.path("out"), Overwrite: true}); err == nil || !errs.IsUsage(err) || !strings.Contains(err.Error(), "another run") {
		t.Errorf("got %v", err)
	}
}

func TestOfTwoRunsThatStartTogetherOneIsRefused(t *testing.T) {
	w := newKit(t, 1<<20)
	first, err := Open(Spec{Dir: w.path("out")})
	must(t, err)
	second, err := Open(Spec{Dir: w.path("out")})
	must(t, err)
	must(t, first.Start())
	if err := second.Start(); !errs.IsUsage(err) {
		t.Errorf("the second: %v", err)
	}
	second.Abort()
	first.Seal(0)
	must(t, first.Commit())
	mustList(t, w.list(), "out", "out/_SUCCESS")
}

// found is a Found with the given files and directories. It compares them as the system does.
type found struct{ files, dirs []string }

func (f found) File(info fs.FileInfo) (string, bool)      { return paths.Same(info, f.files) }
func (f found) Directory(info fs.FileInfo) (string, bool) { return paths.Same(info, f.dirs) }
