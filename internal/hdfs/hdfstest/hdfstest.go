// Package hdfstest simulates a Hadoop file system for tests: the part of WebHDFS that package hdfs
// uses, in memory, with faults.
//
// A Cluster is an http.Handler. It simulates the NameNode and the DataNodes on one port. It redirects
// reads and writes, as the NameNode does.
package hdfstest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Cluster is a file system. The zero value is empty. The exported fields are set before the
// first request.
type Cluster struct {
	BlockBytes int64    // 0: 128 MiB
	Hosts      []string // hosts of the blocks, one for each block in turn; nil: localhost

	// Fault is called before each request, with its operation and path. If it returns true, it
	// has answered the request itself. nil: no faults.
	Fault func(op, path string, w http.ResponseWriter, r *http.Request) bool
	// CutReads is the number of bytes after which each read ends; 0: never. With ShortReads,
	// the response looks complete. Without it, the connection breaks.
	CutReads   int64
	ShortReads bool

	mu    sync.Mutex
	files map[string][]byte // by path; the path of a directory ends with a slash
	ids   map[string]uint64 // numbers of inodes, by path; a directory has one when it is asked for
	made  uint64            // inodes so far
	opens int               // number of reads
}

// Serve serves the cluster until the test ends, and returns its host and port.
func (c *Cluster) Serve(t testing.TB) string {
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// Put makes or replaces a file. It keeps data, which must not be changed afterwards.
func (c *Cluster) Put(path string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(path, data)
}

// put makes or replaces a file. It keeps data. The numbers of inodes begin at 16,386, as on a
// NameNode. The caller holds c.mu.
func (c *Cluster) put(path string, data []byte) {
	if c.files == nil {
		c.files, c.ids = map[string][]byte{}, map[string]uint64{}
	}
	c.files[path] = data
	c.number(path)
}

// number gives a path the number of a new inode. The caller holds c.mu.
func (c *Cluster) number(path string) {
	c.ids[path] = c.made + 16386
	c.made++
}

// Files returns the contents of the files below a directory, by their paths in that directory.
func (c *Cluster) Files(dir string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string]string{}
	for path, data := range c.files {
		if name, below := strings.CutPrefix(path, dir+"/"); below {
			found[name] = string(data)
		}
	}
	return found
}

// Opens returns the number of reads so far.
func (c *Cluster) Opens() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opens
}

// ServeHTTP implements http.Handler.
func (c *Cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, "/webhdfs/v1")
	if !ok {
		http.NotFound(w, r)
		return
	}
	if c.Fault != nil && c.Fault(r.URL.Query().Get("op"), path, w, r) {
		return
	}
	c.Honest(w, r, path)
}

// Honest answers a request about path, without a fault.
func (c *Cluster) Honest(w http.ResponseWriter, r *http.Request, path string) {
	op := r.URL.Query().Get("op")
	if path != "/" {
		path = strings.TrimSuffix(path, "/")
	}
	switch r.Method + " " + op {
	case "GET OPEN", "PUT CREATE":
		// The NameNode redirects to a DataNode: this server, with the parameter data=1.
		if r.URL.Query().Get("data") == "" {
			u := *r.URL
			u.Scheme, u.Host = "http", r.Host
			u.RawQuery += "&data=1"
			if op == "OPEN" && !c.isFile(path) {
				refuse(w, http.StatusNotFound, "FileNotFoundException", "File does not exist: "+path)
				return
			}
			w.Header().Set("Location", u.String())
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		if op == "OPEN" {
			c.read(w, r, path)
		} else {
			c.create(w, r, path)
		}
	case "GET GETFILESTATUS":
		c.status(w, path)
	case "GET LISTSTATUS":
		c.list(w, path)
	case "GET GETFILEBLOCKLOCATIONS":
		c.blocks(w, path)
	case "PUT RENAME":
		answer(w, map[string]any{"boolean": c.Rename(path, r.URL.Query().Get("destination"))})
	case "DELETE DELETE":
		answer(w, map[string]any{"boolean": c.Remove(path)})
	default:
		refuse(w, http.StatusBadRequest, "IllegalArgumentException", "Invalid value for webhdfs parameter \"op\": "+op)
	}
}

// answer sends a value as JSON.
func answer(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(what)
}

// refuse sends an error in the format of WebHDFS. Clients read the class of the exception, not
// only the status code.
func refuse(w http.ResponseWriter, code int, exception, message string) {
	w.WriteHeader(code)
	answer(w, map[string]any{"RemoteException": map[string]any{"exception": exception, "javaClassName": "java.io." + exception, "message": message}})
}

// isFile reports whether path is a file.
func (c *Cluster) isFile(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.files[path]
	return ok
}

// attributes returns the FileStatus of path, with the given name. It returns false if there is
// no such file or directory. The caller holds c.mu.
func (c *Cluster) attributes(path, name string) (map[string]any, bool) {
	st := map[string]any{"pathSuffix": name, "modificationTime": 1_700_000_000_000, "replication": 1}
	if data, ok := c.files[path]; ok {
		st["type"] = "FILE"
		st["length"] = len(data)
		st["blockSize"] = c.blockBytes()
		st["fileId"] = c.ids[path]
		return st, true
	}
	for other := range c.files {
		if path == "/" || strings.HasPrefix(other, path+"/") {
			if c.ids[path] == 0 {
				c.number(path)
			}
			st["type"], st["length"] = "DIRECTORY", 0
			st["fileId"] = c.ids[path]
			return st, true
		}
	}
	return nil, false
}

// blockBytes returns the length of a block.
func (c *Cluster) blockBytes() int64 { return cmp.Or(c.BlockBytes, 128<<20) }

// status sends the attributes of a file or directory.
func (c *Cluster) status(w http.ResponseWriter, path string) {
	c.mu.Lock()
	st, ok := c.attributes(path, "")
	c.mu.Unlock()
	if !ok {
		refuse(w, http.StatusNotFound, "FileNotFoundException", "File does not exist: "+path)
		return
	}
	answer(w, map[string]any{"FileStatus": st})
}

// list sends the entries of a directory, sorted by name as on a NameNode.
func (c *Cluster) list(w http.ResponseWriter, path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	prefix := strings.TrimSuffix(path, "/") + "/"
	names := map[string]bool{}
	for other := range c.files {
		if name, below := strings.CutPrefix(other, prefix); below && name != "" {
			name, _, _ = strings.Cut(name, "/")
			names[name] = true
		}
	}
	all := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		st, _ := c.attributes(prefix+name, name)
		all = append(all, st)
	}
	answer(w, map[string]any{"FileStatuses": map[string]any{"FileStatus": all}})
}

// blocks sends offset, length and host of each block. The hosts take turns, so tests know which
// host has a block.
func (c *Cluster) blocks(w http.ResponseWriter, path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []map[string]any{}
	size := int64(len(c.files[path]))
	hosts := c.Hosts
	if hosts == nil {
		hosts = []string{"localhost"}
	}
	for at := int64(0); at < size; at += c.blockBytes() {
		all = append(all, map[string]any{"offset": at, "length": min(c.blockBytes(), size-at), "hosts": []string{hosts[len(all)%len(hosts)]}})
	}
	answer(w, map[string]any{"BlockLocations": map[string]any{"BlockLocation": all}})
}

// read sends a part of a file.
func (c *Cluster) read(w http.ResponseWriter, r *http.Request, path string) {
	c.mu.Lock()
	data := c.files[path]
	c.opens++
	c.mu.Unlock()
	offset, _ := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
	length, err := strconv.ParseInt(r.URL.Query().Get("length"), 10, 64)
	offset = min(offset, int64(len(data)))
	if err != nil {
		length = int64(len(data)) - offset
	}
	part := data[offset:min(offset+length, int64(len(data)))]
	if c.CutReads > 0 && int64(len(part)) > c.CutReads {
		// With a Content-Length that is too large, the client sees an early end. Without it,
		// the short response looks complete, and only the length of the file shows the error.
		if !c.ShortReads {
			w.Header().Set("Content-Length", fmt.Sprint(len(part)))
		}
		_, _ = w.Write(part[:c.CutReads])
		if !c.ShortReads {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(part)))
	_, _ = w.Write(part)
}

// create makes a file of the body of the request.
func (c *Cluster) create(w http.ResponseWriter, r *http.Request, path string) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.files[path]; taken && r.URL.Query().Get("overwrite") != "true" {
		refuse(w, http.StatusForbidden, "FileAlreadyExistsException", path+" already exists")
		return
	}
	c.put(path, data)
	w.WriteHeader(http.StatusCreated)
}

// Rename renames a file, or a directory with everything below it. As on a NameNode, the inodes keep
// their numbers, and what is renamed to a directory is moved into it. Rename returns false if the new
// name is taken or the old one does not exist.
func (c *Cluster) Rename(from, to string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if there, taken := c.attributes(to, ""); taken && there["type"] == "DIRECTORY" {
		to += from[strings.LastIndexByte(from, '/'):]
	}
	if _, taken := c.attributes(to, ""); taken {
		return false
	}
	moved := move(c.files, from, to)
	move(c.ids, from, to)
	return moved
}

// move gives what m has of from, and below it, the path to, and reports whether there is something.
func move[V any](m map[string]V, from, to string) (moved bool) {
	for path, v := range maps.Clone(m) {
		if rest, ok := below(path, from); ok {
			delete(m, path)
			m[to+rest] = v
			moved = true
		}
	}
	return moved
}

// below returns the rest of path, if it is dir or lies below it.
func below(path, dir string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, dir)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// Remove removes a path and everything below it. It reports whether there was anything.
func (c *Cluster) Remove(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.files)
	gone := func(other string) bool { _, ok := below(other, path); return ok }
	maps.DeleteFunc(c.files, func(other string, _ []byte) bool { return gone(other) })
	maps.DeleteFunc(c.ids, func(other string, _ uint64) bool { return gone(other) })
	return len(c.files) < before
}
