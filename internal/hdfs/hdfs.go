// Package hdfs reads and writes files of Hadoop's file system through WebHDFS, the HTTP interface
// of its NameNode and DataNodes (Hadoop 3.4, "WebHDFS REST API").
//
// The name of a file is hdfs://HOST:PORT/PATH, as in Hadoop. PORT is that of the NameNode's RPC,
// which this package does not use. It connects to the web port of the same host, 9870 unless
// Options.Web is set. In webhdfs://HOST:PORT/PATH, PORT is the web port itself. docs/adr/0026 has the
// reasons.
//
//	FS ──Stat, List, Blocks, Rename, …──► NameNode
//	└─► Open ► Reader ──ReadAt──► DataNode        Create ► Writer ──Write──► DataNode
//
// If a connection ends before all bytes are read, that is an error and not a short result. This
// package retries nothing: the engine retries attempts.
//
// No answer of a server is trusted: each has a bound in bytes and in time, and its values are
// checked. A change is followed by a question whether it was made. An error about an answer names
// the server.
//
// Memory: a Reader keeps the last 64 KiB that it has read.
package hdfs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"mrlocal/internal/errs"
)

// Options say how file systems are reached. The zero value works.
type Options struct {
	Web  string // HOST:PORT of the NameNode's web interface; "": the host of the file, port 9870
	User string // user name for a cluster without Kerberos; "": the default of the cluster
}

// defaultPort is the port of dfs.namenode.http-address in Hadoop 3.
const defaultPort = "9870"

// Is reports whether name is a URI of HDFS: it begins with hdfs:// or webhdfs://.
func Is(name string) bool {
	return strings.HasPrefix(name, "hdfs://") || strings.HasPrefix(name, "webhdfs://")
}

// FS accesses file systems. Several goroutines may use it.
type FS struct {
	o         Options
	ctx       context.Context // of the run: its end ends every request, with its cause as the error
	client    *http.Client
	patience  time.Duration // see the constants
	listBytes int64         // mostListBytes
	offsets   *sync.Map     // hosts of servers that are known to heed the parameter offset
}

// New returns an FS. It connects at the first call of a method. When ctx ends, its methods and those
// of its Readers and Writers fail with the cause. Cleanup returns an FS that can still remove what was made.
func New(ctx context.Context, o Options) *FS {
	// A NameNode that does not answer must not block a job: connecting may take ten seconds,
	// and the headers a minute. A body has a least rate (body).
	dial := &net.Dialer{Timeout: 10 * time.Second}
	return &FS{o: o, ctx: ctx, patience: patience, listBytes: mostListBytes, offsets: new(sync.Map), client: &http.Client{
		// No proxy: clusters are on the local network, and no environment variable may change a
		// run. No compression: the bytes of a file are those of the server.
		Transport: &http.Transport{
			DialContext: dial.DialContext, ResponseHeaderTimeout: patience,
			DisableCompression: true, MaxResponseHeaderBytes: mostHeaderBytes,
			// Package http writes bytes behind an answer to the log of the process, if the
			// connection is kept for another request.
			DisableKeepAlives: true,
		},
		// Only reads follow a redirection to a DataNode. place handles that of a write.
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > mostRedirects || r.Method != http.MethodGet {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}}
}

// removeWithin is how long a result may be removed when the run has ended. A run returns within two seconds.
// The rest of them is for a busy machine.
const removeWithin = time.Second

// Cleanup returns the FS for the removal of a result. Its requests may go on until removeWithin after
// the end of the run.
func (s *FS) Cleanup() *FS {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(s.ctx))
	context.AfterFunc(s.ctx, func() {
		time.AfterFunc(removeWithin, func() { cancel(context.Cause(s.ctx)) })
	})
	last := *s
	last.ctx = ctx
	return &last
}

// File has the attributes of a file or directory.
type File struct {
	Name       string // name in its directory; "" from Stat, the whole path from Walk
	Dir        bool
	Bytes      int64 // length
	BlockBytes int64
	ID         uint64    // number of its inode
	Modified   time.Time // with a precision of milliseconds
}

// Stat returns the attributes of name. It fails with fs.ErrNotExist if there is no such file.
func (s *FS) Stat(name string) (File, error) {
	var answer struct{ FileStatus *status }
	r, err := s.ask(http.MethodGet, name, "GETFILESTATUS", nil, mostAnswerBytes, &answer)
	switch {
	case err != nil:
		return File{}, err
	case answer.FileStatus == nil:
		return File{}, wrong(r, "it has no member FileStatus")
	}
	answer.FileStatus.PathSuffix = ""
	f, err := answer.FileStatus.file()
	if err != nil {
		err = wrong(r, "%w", err)
	}
	return f, err
}

// List returns the entries of the directory name, in the byte order of their names. Each name is
// there once, is not empty, and has no slash.
func (s *FS) List(name string) (files []File, err error) {
	var answer struct {
		FileStatuses *struct{ FileStatus []status }
	}
	r, err := s.ask(http.MethodGet, name, "LISTSTATUS", nil, s.listBytes, &answer)
	switch {
	case err != nil:
		return nil, err
	case answer.FileStatuses == nil || answer.FileStatuses.FileStatus == nil:
		return nil, wrong(r, "it has no member FileStatus")
	}
	for _, st := range answer.FileStatuses.FileStatus {
		f, err := st.file()
		if err := cmp.Or(checkName(f.Name), err); err != nil {
			return nil, wrong(r, "%w", err)
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	for i := 1; i < len(files); i++ {
		if files[i-1].Name == files[i].Name {
			return nil, wrong(r, "two entries with the name %q", brief(files[i].Name))
		}
	}
	return files, nil
}

// Walk returns the files below the directory name, in the byte order of their paths. Their Name
// is the whole path. Unless all is set, it leaves out names that begin with . or _, and returns
// the number of these. It fails if there are more than mostEntries files and directories.
func (s *FS) Walk(name string, all bool) (files []File, hidden int, err error) {
	seen := 0
	var below func(name string, depth int) error
	below = func(name string, depth int) error {
		entries, err := s.List(name)
		if err != nil {
			return err
		}
		if seen += len(entries); seen > mostEntries || depth > mostDepth {
			host, _, _ := split(name)
			return fmt.Errorf("the server %s lists more than %d files and directories, or %d directories in each other", host, mostEntries, mostDepth)
		}
		// A directory is sorted by its path with a slash: a.txt comes before a/b.
		path := func(f File) string {
			if f.Dir {
				return f.Name + "/"
			}
			return f.Name
		}
		slices.SortFunc(entries, func(a, b File) int { return strings.Compare(path(a), path(b)) })
		for _, f := range entries {
			if !all && (f.Name[0] == '.' || f.Name[0] == '_') {
				hidden++
				continue
			}
			f.Name = name + "/" + f.Name
			if !f.Dir {
				files = append(files, f)
			} else if err := below(f.Name, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	err = below(strings.TrimRight(name, "/"), 0)
	return files, hidden, err
}

// Block is a block of a file, and the hosts that store it. Offset and Length are in bytes.
type Block struct {
	Offset int64
	Length int64
	Hosts  []string
}

// Blocks returns the blocks of the file name, in the order of their offsets. They do not overlap.
func (s *FS) Blocks(name string) ([]Block, error) {
	var answer struct {
		BlockLocations *struct{ BlockLocation []Block }
	}
	r, err := s.ask(http.MethodGet, name, "GETFILEBLOCKLOCATIONS", nil, s.listBytes, &answer)
	switch {
	case err != nil:
		return nil, err
	case answer.BlockLocations == nil || answer.BlockLocations.BlockLocation == nil:
		return nil, wrong(r, "it has no member BlockLocation")
	}
	end := int64(0)
	for _, b := range answer.BlockLocations.BlockLocation {
		if b.Offset < end || b.Length < 0 || b.Length > math.MaxInt64-b.Offset {
			return nil, wrong(r, "a block at offset %d with %d bytes", b.Offset, b.Length)
		}
		end = b.Offset + b.Length
	}
	return answer.BlockLocations.BlockLocation, nil
}

// Rename renames the file or directory name to to. It fails if to is a file. If to is a directory,
// HDFS moves name into it. Rename makes sure that there is something at to afterwards.
func (s *FS) Rename(name, to string) error {
	_, path, err := split(to)
	if err != nil {
		return err
	}
	done, r, err := s.change(http.MethodPut, name, "RENAME", url.Values{"destination": {path}})
	if err != nil {
		return err
	}
	if !done { // for example because a name is taken; that is not an error of HTTP
		return errors.New("the NameNode refuses rename")
	}
	if _, err = s.Stat(to); errors.Is(err, fs.ErrNotExist) {
		return wrong(r, "it has renamed nothing")
	}
	return err
}

// Remove removes the file name, or the directory name with everything below it. It is not an
// error if there is nothing. It makes sure that there is nothing afterwards.
func (s *FS) Remove(name string) error {
	_, r, err := s.change(http.MethodDelete, name, "DELETE", url.Values{"recursive": {"true"}})
	if err != nil {
		return err
	}
	switch _, err = s.Stat(name); {
	case err == nil:
		return wrong(r, "it has not removed %s", brief(name))
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// change asks the NameNode for a change, and returns whether it has made one.
func (s *FS) change(method, name, op string, with url.Values) (done bool, r *http.Request, err error) {
	var answer struct{ Boolean *bool }
	if r, err = s.ask(method, name, op, with, mostAnswerBytes, &answer); err != nil {
		return false, nil, err
	}
	if answer.Boolean == nil {
		return false, nil, wrong(r, "neither true nor false")
	}
	return *answer.Boolean, r, nil
}

// split divides a name into host with port, and path. It fails if there is no host.
func split(name string) (host, path string, err error) {
	_, rest, _ := strings.Cut(name, "://")
	host, path, _ = strings.Cut(rest, "/")
	if host == "" {
		return "", "", errors.New("names no NameNode; write hdfs://HOST:PORT/PATH")
	}
	if strings.Contains(host, "@") {
		return "", "", errs.Errorf("names a user before the host; use %s", errs.Field("Options.HDFS.User"))
	}
	return host, "/" + path, nil
}

// address returns the URL of the operation op on name, at the web port of the NameNode. with
// has further parameters.
func (s *FS) address(name, op string, with url.Values) (string, error) {
	host, path, err := split(name)
	if err != nil {
		return "", err
	}
	switch {
	case s.o.Web != "":
		host = s.o.Web
	case strings.HasPrefix(name, "hdfs://"):
		at, _, err := net.SplitHostPort(host)
		if err != nil {
			at = host
		}
		host = net.JoinHostPort(at, defaultPort)
	}
	query := url.Values{"op": {op}}
	if s.o.User != "" {
		query.Set("user.name", s.o.User)
	}
	maps.Copy(query, with)
	u := url.URL{Scheme: "http", Host: host, Path: "/webhdfs/v1" + path, RawQuery: query.Encode()}
	return u.String(), nil
}

// ask sends an operation to the NameNode, and decodes the reply into to. The reply has at most the given number of
// bytes. with has further parameters. ask returns the request, after redirections. For missing and existing files it
// returns fs.ErrNotExist and fs.ErrExist.
func (s *FS) ask(method, name, op string, with url.Values, most int64, to any) (*http.Request, error) {
	address, err := s.address(name, op, with)
	if err != nil {
		return nil, err
	}
	response, err := s.send(method, address, nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return nil, refusal(response)
	}
	return response.Request, decode(response, most, to)
}

// send sends a request with the bytes of content, which may be nil. The body of the response is a
// *body.
func (s *FS) send(method, address string, content io.Reader) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	r, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	if content != nil {
		r.Header.Set("Content-Type", "application/octet-stream")
	}
	response, err := s.client.Do(r)
	if err != nil {
		err = cmp.Or(context.Cause(ctx), cause(err, r.URL.Host))
		cancel(nil)
		return nil, err
	}
	response.Body = &body{response.Body, -1, s.patience, s.patience, ctx, cancel}
	return response, nil
}

// refusal returns the error that a response reports. It reads the body but does not close it.
func refusal(response *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, mostAnswerBytes))
	var answer struct {
		RemoteException *struct{ Exception, Message string }
	}
	switch {
	case bytes.Contains(text, []byte("Hadoop IPC port")):
		return errs.Errorf("%s is the RPC port of a Hadoop server; give the NameNode's web port (%s)", response.Request.URL.Host, errs.Field("Options.HDFS.Web"))
	case response.StatusCode == http.StatusUnauthorized:
		return errors.New("the cluster requires Kerberos, which mrlocal does not support")
	case response.StatusCode/100 == 3:
		return wrong(response.Request, "one redirection too many")
	case once(json.NewDecoder(bytes.NewReader(text))) != nil || json.Unmarshal(text, &answer) != nil || answer.RemoteException == nil:
		return fmt.Errorf("the server %s answers %s, which is not WebHDFS", response.Request.URL.Host, brief(response.Status))
	}
	// Further lines of a message may be a stack.
	exception, message := brief(answer.RemoteException.Exception), brief(answer.RemoteException.Message)
	switch exception {
	case "FileNotFoundException":
		return fs.ErrNotExist
	case "FileAlreadyExistsException":
		return fs.ErrExist
	case "AccessControlException":
		return fmt.Errorf("%w: %s", fs.ErrPermission, message)
	}
	return fmt.Errorf("the server %s refuses: %s: %s", response.Request.URL.Host, exception, message)
}

// cause returns the error below HTTP of a request to host, with the address but without the URL.
func cause(err error, host string) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("no such host: %s", dns.Name)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
		inner := op.Err // its innermost error is usually a syscall.Errno
		for errors.Unwrap(inner) != nil {
			inner = errors.Unwrap(inner)
		}
		return fmt.Errorf("%s %s: %w", op.Op, op.Addr, inner)
	}
	switch {
	case errors.Is(err, errAborted):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("the connection was lost (server %s)", host)
	}
	return fmt.Errorf("the server %s: %s", host, brief(err.Error()))
}

// param returns n as the value of a URL parameter.
func param(n int64) []string { return []string{strconv.FormatInt(n, 10)} }

// Bounds of the answers of a server. A NameNode with its default settings stays below them.
const (
	mostAnswerBytes = 64 << 10  // of an answer without a list
	mostListBytes   = 128 << 20 // of a list: the attributes of about 450,000 files
	mostEntries     = 1 << 20   // of a Walk
	mostHeaderBytes = 64 << 10
	mostDepth       = 1000 // directories in a path
	mostRedirects   = 3

	// patience is the longest time until the header of an answer, and the longest time that its
	// body may take beyond that of leastBytesPerSecond.
	patience            = time.Minute
	leastBytesPerSecond = 1 << 10
)

var (
	errTooLong = errors.New("it is too long")
	errSlow    = errors.New("it is silent, or sends less than 1 KiB/s")
)

// wrong returns an error that blames the server for its answer to an operation.
func wrong(r *http.Request, format string, args ...any) error {
	return fmt.Errorf("the server %s gives a wrong answer to %s: %w", r.URL.Host, r.URL.Query().Get("op"), fmt.Errorf(format, args...))
}

// body is the body of an answer, with bounds for its bytes and for the time that a reader waits.
type body struct {
	io.ReadCloser
	leftBytes int64                   // Read fails with errTooLong behind them; negative: no bound
	patience  time.Duration           // the most time that may be left
	left      time.Duration           // Read fails with errSlow after it; bytes add to it
	ctx       context.Context         // of the request
	cancel    context.CancelCauseFunc // ends ctx
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	switch {
	case b.leftBytes == 0:
		return 0, errTooLong
	case b.leftBytes > 0:
		p = p[:min(int64(len(p)), b.leftBytes)]
	}
	start := time.Now()
	timer := time.AfterFunc(b.left, func() { b.cancel(errSlow) })
	n, err := b.ReadCloser.Read(p)
	timer.Stop()
	b.left = min(b.patience, b.left-time.Since(start)+time.Duration(n)*time.Second/leastBytesPerSecond)
	if err != nil && err != io.EOF && b.ctx.Err() != nil {
		err = context.Cause(b.ctx)
	}
	if b.leftBytes > 0 {
		b.leftBytes -= int64(n)
	}
	return n, err
}

// Close ends the request.
func (b *body) Close() error {
	b.cancel(nil)
	return b.ReadCloser.Close()
}

// decode decodes the JSON of an answer into to. The answer has at most the given number of bytes.
func decode(response *http.Response, most int64, to any) error {
	b := response.Body.(*body)
	b.leftBytes = most
	text, err := io.ReadAll(b)
	if err == nil {
		err = cmp.Or(json.Unmarshal(text, to), once(json.NewDecoder(bytes.NewReader(text))))
	}
	kind, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == nil:
		return nil
	case ok:
		return wrong(response.Request, "%s is a %s", kind.Field, kind.Value)
	case errs.Is[*json.SyntaxError](err):
		return wrong(response.Request, "it is not JSON, or ends early")
	}
	return wrong(response.Request, "%w", err)
}

// once fails if an object in the next value has two members of a name. Package json takes names
// without regard to case, so once does so too. It allows anything else.
func once(d *json.Decoder) error {
	open, err := d.Token()
	if err != nil || open != json.Delim('{') && open != json.Delim('[') {
		return nil
	}
	seen := map[string]struct{}{}
	for d.More() {
		if open == json.Delim('{') {
			key, err := d.Token()
			if err != nil {
				return nil
			}
			name := strings.ToLower(fmt.Sprint(key))
			if _, is := seen[name]; is {
				return fmt.Errorf("two members %q in an object", brief(name))
			}
			seen[name] = struct{}{}
		}
		if err := once(d); err != nil {
			return err
		}
	}
	_, _ = d.Token() // the end of the object or array
	return nil
}

// status is FileStatus of WebHDFS. Package json matches the names of fields without regard to
// case.
type status struct {
	PathSuffix       string
	Type             string
	Length           *int64
	BlockSize        int64
	FileID           uint64
	ModificationTime int64
}

// file returns the status as a File. It fails if no file can have such attributes.
func (st *status) file() (File, error) {
	f := File{Name: st.PathSuffix, Dir: st.Type == "DIRECTORY", BlockBytes: st.BlockSize, ID: st.FileID, Modified: time.UnixMilli(st.ModificationTime)}
	switch {
	case !f.Dir && st.Type != "FILE":
		return f, fmt.Errorf("the type %q", brief(st.Type))
	case f.Dir:
		return f, nil
	case st.Length == nil:
		return f, errors.New("a file without a length")
	case *st.Length < 0:
		return f, fmt.Errorf("the length %d", *st.Length)
	case st.BlockSize < 0:
		return f, fmt.Errorf("the block size %d", st.BlockSize)
	}
	f.Bytes = *st.Length
	return f, nil
}

// checkName fails if no entry of a directory can have the name.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("an entry without a name")
	case name == "." || name == ".." || strings.ContainsAny(name, "/\x00"):
		return fmt.Errorf("an entry with the name %q", brief(name))
	}
	return nil
}

// brief returns the start of the first line of a text of the server, without control characters.
func brief(text string) string {
	const most = 200
	text, _, _ = strings.Cut(text, "\n")
	text = strings.ToValidUTF8(text[:min(len(text), most)], "")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
