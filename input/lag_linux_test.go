package input_test

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mrlocal/input"
)

// lagging mounts a file system until the test ends, and returns its directory.
// Its files claim to have more bytes than they have, as on a network file
// system whose attributes lag.
func lagging(t *testing.T, files map[string]lag) string {
	t.Helper()
	dir := t.TempDir()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no FUSE: ", err)
	}
	options := "fd=" + strconv.Itoa(fd) + ",rootmode=40000,user_id=0,group_id=0"
	if err := unix.Mount("lagging", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_RDONLY, options); err != nil {
		unix.Close(fd)
		t.Skip("no FUSE: ", err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		s := server{files: files}
		s.serve(fd)
	}()
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
		<-served
		unix.Close(fd)
	})
	return dir
}

// lag is a file that claims to have more bytes than it has.
type lag struct {
	data    []byte
	claimed int
}

// server implements the part of the FUSE protocol (version 7.31) that looking
// up, statting and reading of files need.
type server struct {
	files map[string]lag
	names []string // of node 2 and those after it
}

func (s *server) serve(fd int) {
	request := make([]byte, 1<<20)
	for {
		n, err := unix.Read(fd, request)
		if err == unix.EINTR {
			continue
		}
		if err != nil { // ENODEV: unmounted
			return
		}
		body, errno := s.answer(binary.NativeEndian.Uint32(request[4:]), binary.NativeEndian.Uint64(request[16:]), request[40:n])
		if errno < 0 {
			continue // nobody waits for an answer
		}
		answer := binary.NativeEndian.AppendUint32(nil, uint32(16+len(body)))
		answer = binary.NativeEndian.AppendUint32(answer, uint32(-errno))
		answer = append(answer, request[8:16]...)
		_, _ = unix.Write(fd, append(answer, body...))
	}
}

// answer returns the body of the answer to a request and its error number,
// which is positive or 0. It is negative if the request has no answer.
func (s *server) answer(op uint32, node uint64, in []byte) (body []byte, errno int32) {
	const lookup, forget, getattr, open, read, release, flush, setup, batchForget = 1, 2, 3, 14, 15, 18, 25, 26, 42
	le := binary.NativeEndian
	switch op {
	case setup:
		body = make([]byte, 64)
		le.PutUint32(body, 7)
		le.PutUint32(body[4:], 31)
		return body, 0
	case lookup:
		name, _, _ := strings.Cut(string(in), "\x00")
		if _, ok := s.files[name]; !ok {
			return nil, int32(unix.ENOENT)
		}
		s.names = append(s.names, name)
		node = uint64(len(s.names)) + 1
		body = make([]byte, 40)
		le.PutUint64(body, node)
		le.PutUint64(body[16:], 3600) // seconds that the name is valid
		le.PutUint64(body[24:], 3600) // and the attributes
		return append(body, s.attributes(node)...), 0
	case getattr:
		body = make([]byte, 16)
		return append(body, s.attributes(node)...), 0
	case open:
		body = make([]byte, 16)
		body[8] = 1 // direct I/O: the kernel does not correct the size
		return body, 0
	case read:
		data := s.files[s.names[node-2]].data
		from := min(int(le.Uint64(in[8:])), len(data))
		return data[from:min(from+int(le.Uint32(in[16:])), len(data))], 0
	case release, flush:
		return nil, 0
	case forget, batchForget:
		return nil, -1
	}
	return nil, int32(unix.ENOSYS)
}

func (s *server) attributes(node uint64) []byte {
	size, mode := 0, uint32(unix.S_IFDIR|0o755)
	if node > 1 {
		size, mode = s.files[s.names[node-2]].claimed, unix.S_IFREG|0o644
	}
	b := make([]byte, 88)
	binary.NativeEndian.PutUint64(b, node)
	binary.NativeEndian.PutUint64(b[8:], uint64(size))
	binary.NativeEndian.PutUint32(b[60:], mode)
	binary.NativeEndian.PutUint32(b[64:], 1)
	return b
}

// The attributes do not count: a result from fewer bytes than planned must
// never look like a whole one.
func TestAFileThatEndsBeforeItsSizeIsAnError(t *testing.T) {
	text := sampleText(700 << 10)
	gz := compressors["gzip"](text)
	two := append(compressors["gzip"](text), gz...)
	dir := lagging(t, map[string]lag{
		"whole":   {text, len(text)},
		"large":   {text, len(text) + 300<<10},
		"small":   {text[:1000], 1001},
		"nothing": {nil, 10},
		"a head":  {gz[:40], 700 << 10},
		"cut":     {gz[:len(gz)/2], len(gz)},
		"members": {gz, len(two)},
	})
	for _, c := range []struct {
		name  string
		paths []string
		block int64
		says  string
	}{
		{"a whole file", []string{"whole"}, 64 << 10, ""},
		{"in one split", []string{"large"}, 4 << 20, "large: changed while it was being read: it has no byte at offset " + strconv.Itoa(len(text))},
		{"in many splits", []string{"large"}, 64 << 10, "it has no byte at offset " + strconv.Itoa(len(text))},
		{"one split, a record longer than it", []string{"large"}, 1 << 10, "it has no byte at offset " + strconv.Itoa(len(text))},
		{"small", []string{"small"}, 0, "small: changed while it was being read: it has no byte at offset 1000 and had 1001 bytes when the run began"},
		{"small, among others", []string{"whole", "small", "whole"}, 4 << 20, "it has no byte at offset 1000"},
		{"empty", []string{"whole", "nothing"}, 4 << 20, "nothing: changed while it was being read: it has no byte at offset 0"},
		{"in its first bytes, many splits", []string{"a head"}, 64 << 10, "a head: changed while it was being read: it has no byte at offset 40"},
		{"compressed, within its data", []string{"cut"}, 0, "it has no byte at offset " + strconv.Itoa(len(gz)/2)},
		{"compressed, after a member", []string{"members"}, 0, "it has no byte at offset " + strconv.Itoa(len(gz))},
		{"compressed, as a stream", []string{"members"}, 1 << 10, "it has no byte at offset " + strconv.Itoa(len(gz))},
	} {
		t.Run(c.name, func(t *testing.T) {
			var paths []string
			for _, name := range c.paths {
				paths = append(paths, filepath.Join(dir, name))
			}
			p, err := input.NewPlan(paths, input.Options{BlockBytes: c.block})
			if err == nil {
				_, err = tryRead(t, p, '\n', &memory{}, false)
				if c.says != "" && !errors.Is(err, input.ErrChanged) {
					t.Error("the error is not ErrChanged")
				}
			}
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%v, not %q", err, c.says)
			}
		})
	}
}
