package hdfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mrlocal/internal/hdfs/hdfstest"
)

const lieRoot = "hdfs://namenode:9000"

// lieContent is a file in which each place has other bytes.
func lieContent() []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < 100_000; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.Bytes()
}

// lieOperations are what a program does with a file system. Each returns what it has got as text.
func lieOperations() map[string]func(f *FS, c *hdfstest.Cluster) (string, error) {
	content := lieContent()
	read := func(start int64) func(f *FS, c *hdfstest.Cluster) (string, error) {
		return func(f *FS, _ *hdfstest.Cluster) (string, error) {
			from := start
			r := f.Open(lieRoot+"/in/a", int64(len(content)))
			defer r.Close()
			var got []byte
			buf := make([]byte, 30_000)
			for {
				n, err := r.ReadAt(buf, from)
				if n == 0 || err != nil {
					return string(got), err
				}
				got, from = append(got, buf[:n]...), from+int64(n)
			}
		}
	}
	return map[string]func(f *FS, c *hdfstest.Cluster) (string, error){
		"stat": func(f *FS, _ *hdfstest.Cluster) (string, error) {
			st, err := f.Stat(lieRoot + "/in/a")
			return fmt.Sprint(st.Dir, st.Bytes), err
		},
		"list": func(f *FS, _ *hdfstest.Cluster) (string, error) {
			files, hidden, err := f.Walk(lieRoot+"/in", false)
			return fmt.Sprint(hidden, files), err
		},
		"blocks": func(f *FS, _ *hdfstest.Cluster) (string, error) {
			blocks, err := f.Blocks(lieRoot + "/in/a")
			return fmt.Sprint(blocks), err
		},
		"read": read(0), "read at an offset": read(70_000), "read the last byte": read(int64(len(content)) - 1),
		"create": func(f *FS, c *hdfstest.Cluster) (string, error) {
			w, err := f.Create(lieRoot + "/new")
			for i := 0; err == nil && i < 10; i++ {
				_, err = w.Write(content)
			}
			if err == nil {
				err = w.Close()
			} else if w != nil {
				w.Abort()
			}
			return fmt.Sprint(len(c.Files("")["new"])), err
		},
		"rename": func(f *FS, c *hdfstest.Cluster) (string, error) {
			err := f.Rename(lieRoot+"/in/a", lieRoot+"/moved")
			return fmt.Sprint(len(c.Files("")["moved"])), err
		},
		"delete": func(f *FS, c *hdfstest.Cluster) (string, error) {
			err := f.Remove(lieRoot + "/in/a")
			return fmt.Sprint(len(c.Files("")["in/a"])), err
		},
	}
}

// lieConcerns lists the operations of WebHDFS that each operation needs.
func lieConcerns(op string) []string {
	return map[string][]string{
		"stat": {"GETFILESTATUS"}, "list": {"LISTSTATUS"}, "blocks": {"GETFILEBLOCKLOCATIONS"},
		"create": {"CREATE", "GETFILESTATUS"}, "rename": {"RENAME", "GETFILESTATUS"}, "delete": {"DELETE", "GETFILESTATUS"},
		"read": {"OPEN"}, "read at an offset": {"OPEN"}, "read the last byte": {"OPEN"},
	}[op]
}

// TestALieIsAnErrorThatNamesTheServer does each operation against each lie. It gives the right
// result, or one line that names the server.
func TestALieIsAnErrorThatNamesTheServer(t *testing.T) {
	content := lieContent()
	run := func(lie Lie, do func(*FS, *hdfstest.Cluster) (string, error)) (got, web string, err error) {
		c := &hdfstest.Cluster{BlockBytes: 40_000}
		lie.Tell(c)
		c.Put("/in/a", bytes.Clone(content))
		c.Put("/in/b/c", []byte("x"))
		web = c.Serve(t)
		f := New(t.Context(), Options{Web: web})
		f.patience, f.listBytes = 200*time.Millisecond, 1<<20
		got, err = do(f, c)
		return got, web, err
	}
	lies, cases, refused := Lies(), 0, atomic.Int64{}
	check := func(op string, lie Lie, do func(*FS, *hdfstest.Cluster) (string, error), want string) {
		got, web, err := run(lie, do)
		switch text := fmt.Sprint(err); {
		case err == nil && got != want:
			t.Errorf("%s, %s of %s: got %.60q, want %.60q", op, lie.Name, lie.Op, got, want)
		case err != nil && (!strings.Contains(text, web) && text != "the NameNode refuses rename" || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) || len(text) > 500):
			t.Errorf("%s, %s of %s: %q does not name the server", op, lie.Name, lie.Op, text)
		case err != nil:
			refused.Add(1)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
				t.Errorf("%s, %s of %s: %v", op, lie.Name, lie.Op, err)
			}
		}
	}
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	var all sync.WaitGroup
	turns := make(chan struct{}, 4) // at the same time, because some lies are a long wait
	for op, do := range lieOperations() {
		want, _, err := run(Lie{}, do)
		if err != nil {
			t.Fatalf("%s: %v", op, err)
		}
		for _, lie := range lies {
			if slices.Contains(lieConcerns(op), lie.Op) {
				cases++
				turns <- struct{}{}
				all.Go(func() { check(op, lie, do, want); <-turns })
			}
		}
	}
	all.Wait()
	if logged.Len() > 0 {
		t.Errorf("the log of the process has %.300q", logged.String())
	}
	if t.Logf("%d cases, %d are errors", cases, refused.Load()); int(refused.Load()) < cases/2 {
		t.Errorf("%d of %d lies are noticed", refused.Load(), cases)
	}
}

// TestAListWithoutEndTakesBoundedMemory lists a directory whose entries never end, and a tree whose
// directories never end.
func TestAListWithoutEndTakesBoundedMemory(t *testing.T) {
	before, most, done := heapBytes(), uint64(0), make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for {
			most = max(most, heapBytes())
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	var asked atomic.Int64
	for name, answer := range map[string]func(w http.ResponseWriter){
		"entries": func(w http.ResponseWriter) {
			fmt.Fprint(w, `{"FileStatuses":{"FileStatus":[`)
			entry := []byte(strings.Repeat(`{"pathSuffix":"abcdefgh","type":"DIRECTORY"},`, 1000))
			for {
				if _, err := w.Write(entry); err != nil {
					return
				}
			}
		},
		"directories": func(w http.ResponseWriter) {
			asked.Add(1)
			fmt.Fprint(w, `{"FileStatuses":{"FileStatus":[{"pathSuffix":"d","type":"DIRECTORY"}]}}`)
		},
		"names": func(w http.ResponseWriter) {
			fmt.Fprint(w, `{"FileStatuses":{"FileStatus":[`)
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(w, `{"pathSuffix":"%d%s","type":"DIRECTORY"},`, i, strings.Repeat("x", 60_000)); err != nil {
					return
				}
			}
		},
	} {
		c := &hdfstest.Cluster{Fault: func(op, _ string, w http.ResponseWriter, _ *http.Request) bool {
			if op == "LISTSTATUS" {
				answer(w)
			}
			return op == "LISTSTATUS"
		}}
		f := New(t.Context(), Options{Web: c.Serve(t)})
		f.listBytes /= 16
		if _, _, err := f.Walk(lieRoot+"/in", true); err == nil || !strings.Contains(err.Error(), "the server ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	close(done)
	<-watched
	if grown := int64(most - min(most, before)); grown > 256<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	if n := asked.Load(); n > mostDepth+2 {
		t.Errorf("%d directories were asked for", n)
	}
}

func heapBytes() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
