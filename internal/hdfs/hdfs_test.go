package hdfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mrlocal/internal/hdfs"
	"mrlocal/internal/hdfs/hdfstest"
)

// start serves a cluster. It returns an FS and the beginning of the names of files.
func start(t *testing.T, c *hdfstest.Cluster) (*hdfs.FS, string) {
	f := hdfs.New(t.Context(), hdfs.Options{Web: c.Serve(t), User: "ann"})
	return f, "hdfs://namenode:9000"
}

// text returns n bytes. Neighbouring offsets have different bytes.
func text(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i>>16 + i>>8*7 + i*31)
	}
	return data
}

func readAll(r *hdfs.Reader, from int64, step int) (got []byte, err error) {
	buf := make([]byte, step)
	for {
		n, err := r.ReadAt(buf, from)
		if n == 0 || err != nil {
			return got, err
		}
		got, from = append(got, buf[:n]...), from+int64(n)
	}
}

func TestAFileIsReadWithFewConnections(t *testing.T) {
	c := &hdfstest.Cluster{}
	data := text(3 << 20)
	c.Put("/in/ä b", data)
	f, root := start(t, c)
	r := f.Open(root+"/in/ä b", int64(len(data)))
	defer r.Close()
	if got, err := readAll(r, 0, 100_000); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if c.Opens() > 4 {
		t.Errorf("%d connections", c.Opens())
	}
	// Going back within the last 64 KiB needs no new connection. Going elsewhere needs one.
	opens := c.Opens()
	for _, c := range []struct{ at, want int64 }{{int64(len(data)) - 5000, 0}, {17, 1}} {
		got, err := readAll(r, c.at, 1<<20)
		if err != nil || !bytes.Equal(got, data[c.at:]) {
			t.Errorf("from %d: %d bytes, %v", c.at, len(got), err)
		}
	}
	if c.Opens() == opens {
		t.Error("another place was read without a connection")
	}
}

func TestANewFileIsWholeOrAnError(t *testing.T) {
	c := &hdfstest.Cluster{}
	f, root := start(t, c)
	w, err := f.Create(root + "/out/part")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := w.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := c.Files("/out")["part"]; got != "line\nline\nline\n" {
		t.Errorf("%q", got)
	}
	again, err := f.Create(root + "/out/part")
	if err == nil {
		err = again.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
	given, err := f.Create(root + "/out/other")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = given.Write([]byte("half"))
	given.Abort()
	if _, err := given.Write([]byte("more")); err == nil {
		t.Error("a write after Abort succeeds")
	}
}

func TestDirectoriesAndBlocks(t *testing.T) {
	c := &hdfstest.Cluster{BlockBytes: 10, Hosts: []string{"one", "two"}}
	c.Put("/in/b", text(25))
	c.Put("/in/a/x", nil)
	f, root := start(t, c)
	files, err := f.List(root + "/in")
	if err != nil || len(files) != 2 || files[0].Name != "a" || !files[0].Dir || files[1].Name != "b" || files[1].Bytes != 25 || files[1].BlockBytes != 10 {
		t.Fatalf("%+v, %v", files, err)
	}
	blocks, err := f.Blocks(root + "/in/b")
	if err != nil || len(blocks) != 3 || blocks[2].Length != 5 || !slices.Equal(blocks[1].Hosts, []string{"two"}) {
		t.Fatalf("%+v, %v", blocks, err)
	}
	if err := errors.Join(f.Rename(root+"/in/b", root+"/c"), f.Remove(root+"/in")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Stat(root + "/in"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Remove: %v", err)
	}
	if err := f.Rename(root+"/none", root+"/new/d"); err == nil {
		t.Error("a missing file is renamed")
	}
}

// TestFaultsAreErrorsOfOneLine has faults on the way to a file.
func TestFaultsAreErrorsOfOneLine(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := free.Addr().String()
	free.Close()
	for name, c := range map[string]struct {
		name, web string
		fault     http.HandlerFunc
		want      string
	}{
		"missing":      {name: "hdfs://h:1/none", want: "file does not exist"},
		"refused":      {name: "webhdfs://" + nobody + "/x", want: "connection refused"},
		"no host":      {name: "webhdfs://host.invalid:9870/x", want: "no such host: host.invalid"},
		"no authority": {name: "hdfs:///x", want: "names no NameNode"},
		"a user":       {name: "hdfs://ann@host/x", want: "names a user before the host; use Options.HDFS.User"},
		"RPC port": {name: "hdfs://h:1/x", want: "RPC port", fault: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "It looks like you are making an HTTP request to a Hadoop IPC port. This is not the correct port for the web interface on this daemon.", 404)
		}},
		"another server": {name: "hdfs://h:1/x", want: "not WebHDFS", fault: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", 500) }},
		"other JSON":     {name: "hdfs://h:1/x", want: "a wrong answer to GETFILESTATUS: it has no member FileStatus", fault: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }},
		"Kerberos":       {name: "hdfs://h:1/x", want: "Kerberos", fault: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }},
		"forbidden": {name: "hdfs://h:1/x", want: "permission denied: no", fault: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(403)
			fmt.Fprint(w, `{"RemoteException":{"exception":"AccessControlException","message":"no\n\tat org.apache"}}`)
		}},
		"a standby": {name: "hdfs://h:1/x", want: "StandbyException: Operation category READ", fault: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(403)
			fmt.Fprint(w, `{"RemoteException":{"exception":"StandbyException","message":"Operation category READ is not supported"}}`)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &hdfstest.Cluster{}
			if c.fault != nil {
				cluster.Fault = func(_, _ string, w http.ResponseWriter, _ *http.Request) bool { c.fault(w, nil); return true }
			}
			f, _ := start(t, cluster)
			if strings.HasPrefix(c.name, "webhdfs") {
				f = hdfs.New(t.Context(), hdfs.Options{})
			}
			_, err := f.Stat(c.name)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestAReadThatEndsEarlyIsAnError(t *testing.T) {
	for _, short := range []bool{false, true} {
		c := &hdfstest.Cluster{CutReads: 1000, ShortReads: short}
		c.Put("/x", text(5000))
		f, root := start(t, c)
		r := f.Open(root+"/x", 5000)
		got, err := readAll(r, 0, 300)
		if err == nil || !strings.Contains(err.Error(), "the connection was lost") || len(got) != 1000 {
			t.Errorf("short %v: %d bytes, %v", short, len(got), err)
		}
		r.Close()
	}
}
