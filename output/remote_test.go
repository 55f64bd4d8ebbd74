package output

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mrlocal/internal/hdfs"
	"mrlocal/internal/hdfs/hdfstest"
)

// serve serves a cluster. It returns an FS and the beginning of the names of files.
func serve(t *testing.T, c *hdfstest.Cluster) (*hdfs.FS, string) {
	return hdfs.New(t.Context(), hdfs.Options{Web: c.Serve(t)}), "hdfs://namenode:9000"
}

// remoteResult returns the place of a result on HDFS.
func remoteResult(t *testing.T, s Spec) place {
	p, err := openRemote(s)
	must(t, err)
	return p
}

// The DataNode has made the mark, but the answer is lost.
func TestAbortRemovesWhatAFailedStartHasMade(t *testing.T) {
	c := &hdfstest.Cluster{}
	var creates atomic.Int32
	c.Fault = func(op, path string, _ http.ResponseWriter, _ *http.Request) bool {
		if op == "CREATE" && creates.Add(1) == 2 { // the first request gets the address of the DataNode
			c.Put(path, nil)
			panic(http.ErrAbortHandler)
		}
		return false
	}
	f, root := serve(t, c)
	r := remoteResult(t, Spec{Dir: root + "/out", HDFS: f})
	if err := r.start(); err == nil || len(c.Files("/out")) != 1 {
		t.Fatalf("%v, %v", err, c.Files("/out"))
	}
	if err := r.abort(); err != nil || len(c.Files("/out")) > 0 {
		t.Errorf("%v, left: %v", err, c.Files("/out"))
	}
}

// A Start that is refused has made nothing, so its directory belongs to another run.
func TestAbortAfterARefusedStartRemovesNothing(t *testing.T) {
	for _, exception := range []string{"FileAlreadyExistsException", "AccessControlException"} {
		c := &hdfstest.Cluster{}
		var creates atomic.Int32
		c.Fault = func(op, path string, w http.ResponseWriter, _ *http.Request) bool {
			if op != "CREATE" || creates.Add(1) != 2 {
				return false
			}
			c.Put(path, nil)
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"RemoteException":{"exception":%q,"message":"no"}}`, exception)
			return true
		}
		f, root := serve(t, c)
		r := remoteResult(t, Spec{Dir: root + "/out", HDFS: f})
		if err := r.start(); err == nil {
			t.Fatal("started")
		}
		if err := r.abort(); err != nil || len(c.Files("/out")) != 1 {
			t.Errorf("%s: %v, left: %v", exception, err, c.Files("/out"))
		}
	}
}

// TestAResultOfAJournalGetsItsNameAtTheEnd has what may happen while a stage gets its name: another
// program makes the directory, or the answer to the rename is lost.
func TestAResultOfAJournalGetsItsNameAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(c *hdfstest.Cluster, path string)
		fails bool
		left  []string
	}{
		"nothing":                   {nil, false, []string{"out/_SUCCESS"}},
		"another program is faster": {func(c *hdfstest.Cluster, _ string) { c.Put("/dir/out/theirs", nil) }, true, []string{"out/theirs"}},
		"the answer is lost": {func(c *hdfstest.Cluster, path string) {
			c.Rename(path, "/dir/out")
			panic(http.ErrAbortHandler)
		}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &hdfstest.Cluster{}
			cluster.Fault = func(op, path string, _ http.ResponseWriter, _ *http.Request) bool {
				if op == "RENAME" && c.fault != nil {
					c.fault(cluster, path)
				}
				return false
			}
			f, root := serve(t, cluster)
			r := remoteResult(t, Spec{Dir: root + "/dir/out", Kept: t.TempDir(), HDFS: f})
			if err := r.start(); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(Spec{Dir: root + "/dir/out", HDFS: f}); err != nil {
				t.Errorf("before the end: %v", err)
			}
			err := r.publish(0)
			if (err != nil) != c.fails || c.left != nil && c.fails && !errors.Is(err, fs.ErrExist) {
				t.Errorf("%v, want an error: %v", err, c.fails)
			}
			if err != nil {
				if err := r.abort(); err != nil {
					t.Error(err)
				}
			}
			if left := slices.Sorted(maps.Keys(cluster.Files("/dir"))); !slices.Equal(left, c.left) {
				t.Errorf("left: %q, want %q", left, c.left)
			}
		})
	}
}

// TestAResultOnHDFSHasTheFilesOfALocalOne has attempts that win, lose and are aborted, in each style.
func TestAResultOnHDFSHasTheFilesOfALocalOne(t *testing.T) {
	for style, files := range map[DirStyle]string{
		{}:                 "_SUCCESS part-r-00000 part-r-00001 part-r-00002",
		{PlainNames: true}: "_SUCCESS part-00000 part-00001 part-00002",
		{OmitEmpty: true}:  "_SUCCESS part-r-00000 part-r-00002",
		{NoSuccess: true}:  "part-r-00000 part-r-00001 part-r-00002",
		{PlainNames: true, OmitEmpty: true, NoSuccess: true}: "part-00000 part-00002",
	} {
		w, c := newKit(t, 4<<20), &hdfstest.Cluster{}
		f, root := serve(t, c)
		for _, dir := range []string{w.path("out"), root + "/out"} {
			target := w.begin(Spec{Dir: dir, HDFS: f, DirStyle: style, Compress: None}, w.parts(3))
			for task, text := range []string{"a\n", "", "c\n"} {
				aborted, err := target.Attempt(task, 0)
				put(t, aborted, err, "half").Abort()
				late, err := target.Attempt(task, 1)
				put(t, late, err, "late")
				p, err := target.Attempt(task, 2)
				must(t, put(t, p, err, text).Commit())
				if err := late.Commit(); !errors.Is(err, ErrLost) {
					t.Errorf("the later commit: %v", err)
				}
				if _, err := aborted.Write([]byte("more")); !errors.Is(err, ErrAborted) {
					t.Errorf("a write after Abort: %v", err)
				}
			}
			p, err := target.Attempt(0, 3)
			must(t, err)
			side, err := p.(Besides).Beside("side")
			must(t, err)
			_, err = side.Write([]byte("x"))
			must(t, err)
			p.Abort()
			must(t, target.Commit())
		}
		want := map[string]string{}
		for _, name := range w.list() {
			if name != "out" {
				want[name[len("out/"):]] = w.read(name)
			}
		}
		if names := strings.Join(slices.Sorted(maps.Keys(want)), " "); names != files {
			t.Errorf("%+v: %s, want %s", style, names, files)
		}
		if got := c.Files("/out"); !maps.Equal(got, want) {
			t.Errorf("%+v: %q on HDFS, %q here", style, got, want)
		}
	}
}
