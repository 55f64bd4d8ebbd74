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
// Memory: a Reader keeps the last 64 KiB that it has read. Neighbours: package input reads
// files through a Reader, and package output writes parts through a Result.
package hdfs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
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
	o      Options
	client *http.Client
}

// New returns an FS. It connects at the first call of a method.
func New(o Options) *FS {
	// A NameNode that does not answer must not block a job: connecting may take ten seconds,
	// and the headers a minute. A body may take any time.
	dial := &net.Dialer{Timeout: 10 * time.Second}
	return &FS{o: o, client: &http.Client{
		// No proxy: clusters are on the local network, and no environment variable may change a
		// run.
		Transport: &http.Transport{DialContext: dial.DialContext, ResponseHeaderTimeout: time.Minute, MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second},
		// Only reads follow a redirection to a DataNode. place handles that of a write.
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > 3 || r.Method != http.MethodGet {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}}
}

// Close closes the idle connections. The FS may be used again.
func (s *FS) Close() { s.client.CloseIdleConnections() }

// File has the attributes of a file or directory.
type File struct {
	Name       string // name in its directory; "" from Stat, the whole path from Walk
	Dir        bool
	Bytes      int64 // length
	BlockBytes int64
	ID         uint64    // number of its inode
	Modified   time.Time // with a precision of milliseconds
}

// status is FileStatus of WebHDFS. Package json matches the names of fields without regard to
// case.
type status struct {
	PathSuffix       string
	Type             string
	Length           int64
	BlockSize        int64
	FileID           uint64
	ModificationTime int64
}

// file returns the status as a File.
func (st *status) file() File {
	return File{Name: st.PathSuffix, Dir: st.Type == "DIRECTORY", Bytes: st.Length, BlockBytes: st.BlockSize, ID: st.FileID, Modified: time.UnixMilli(st.ModificationTime)}
}

// Stat returns the attributes of name. It fails with fs.ErrNotExist if there is no such file.
func (s *FS) Stat(name string) (File, error) {
	var answer struct{ FileStatus *status }
	if err := s.ask(http.MethodGet, name, "GETFILESTATUS", nil, &answer); err != nil {
		return File{}, err
	}
	if answer.FileStatus == nil {
		return File{}, errNoWebHDFS
	}
	return answer.FileStatus.file(), nil
}

// List returns the entries of the directory name, in the byte order of their names.
func (s *FS) List(name string) ([]File, error) {
	var answer struct {
		FileStatuses *struct{ FileStatus []status }
	}
	if err := s.ask(http.MethodGet, name, "LISTSTATUS", nil, &answer); err != nil {
		return nil, err
	}
	if answer.FileStatuses == nil {
		return nil, errNoWebHDFS
	}
	files := make([]File, 0, len(answer.FileStatuses.FileStatus))
	for i := range answer.FileStatuses.FileStatus {
		files = append(files, answer.FileStatuses.FileStatus[i].file())
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return files, nil
}

// Walk returns the files below the directory name, in the byte order of their paths. Their Name
// is the whole path. Unless all is set, it leaves out names that begin with . or _, and returns
// the number of these.
func (s *FS) Walk(name string, all bool) (files []File, hidden int, err error) {
	name = strings.TrimRight(name, "/")
	entries, err := s.List(name)
	if err != nil {
		return nil, 0, err
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
			continue
		}
		below, more, err := s.Walk(f.Name, all)
		if err != nil {
			return nil, 0, err
		}
		files, hidden = append(files, below...), hidden+more
	}
	return files, hidden, nil
}

// Block is a block of a file, and the hosts that store it. Offset and Length are in bytes.
type Block struct {
	Offset int64
	Length int64
	Hosts  []string
}

// Blocks returns the blocks of the file name, in the order of their offsets.
func (s *FS) Blocks(name string) ([]Block, error) {
	var answer struct {
		BlockLocations *struct{ BlockLocation []Block }
	}
	if err := s.ask(http.MethodGet, name, "GETFILEBLOCKLOCATIONS", nil, &answer); err != nil {
		return nil, err
	}
	if answer.BlockLocations == nil {
		return nil, errNoWebHDFS
	}
	return answer.BlockLocations.BlockLocation, nil
}

// Rename renames the file or directory name to to. It fails if the name to is taken.
func (s *FS) Rename(name, to string) error {
	_, path, err := split(to)
	if err != nil {
		return err
	}
	return s.do(http.MethodPut, name, "RENAME", url.Values{"destination": {path}})
}

// Remove removes the file name, or the directory name with everything below it. It is not an
// error if there is nothing.
func (s *FS) Remove(name string) error {
	var answer struct{ Boolean bool }
	return s.ask(http.MethodDelete, name, "DELETE", url.Values{"recursive": {"true"}}, &answer)
}

// do asks the NameNode for a change. It fails if the NameNode answers false, which is not an
// error of HTTP. That means, for example, that a name is taken.
func (s *FS) do(method, name, op string, with url.Values) error {
	var answer struct{ Boolean bool }
	if err := s.ask(method, name, op, with, &answer); err != nil {
		return err
	}
	if !answer.Boolean {
		return fmt.Errorf("the NameNode refuses %s", strings.ToLower(op))
	}
	return nil
}

// errNoWebHDFS says that the server does not answer in the format of WebHDFS.
var errNoWebHDFS = errors.New("the server gives no answer of WebHDFS")

// split divides a name into host with port, and path. It fails if there is no host.
func split(name string) (host, path string, err error) {
	_, rest, _ := strings.Cut(name, "://")
	host, path, _ = strings.Cut(rest, "/")
	if host == "" {
		return "", "", errors.New("names no NameNode; write hdfs://HOST:PORT/PATH")
	}
	if strings.Contains(host, "@") {
		return "", "", errors.New("names a user before the host; use Options.HDFS.User")
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

// ask sends an operation to the NameNode and decodes the JSON of the reply into answer. with
// has further parameters. For missing and existing files it returns fs.ErrNotExist and
// fs.ErrExist.
func (s *FS) ask(method, name, op string, with url.Values, answer any) error {
	address, err := s.address(name, op, with)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(method, address, nil)
	if err != nil {
		return err
	}
	response, err := s.client.Do(r)
	if err != nil {
		return cause(err)
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return refusal(response)
	}
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		return fmt.Errorf("%w: %w", errNoWebHDFS, cause(err))
	}
	return nil
}

// refusal returns the error that a response reports. It reads the body but does not close it.
func refusal(response *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	var answer struct {
		RemoteException *struct{ Exception, Message string }
	}
	switch {
	case bytes.Contains(text, []byte("Hadoop IPC port")):
		return fmt.Errorf("%s is the RPC port of a Hadoop server; give the NameNode's web port (Options.HDFS.Web)", response.Request.URL.Host)
	case response.StatusCode == http.StatusUnauthorized:
		return errors.New("the cluster requires Kerberos, which mrlocal does not support")
	case json.Unmarshal(text, &answer) != nil || answer.RemoteException == nil:
		return fmt.Errorf("%s answers %s, which is not WebHDFS", response.Request.URL.Host, response.Status)
	}
	// Further lines of a message may be a stack.
	message, _, _ := strings.Cut(answer.RemoteException.Message, "\n")
	switch answer.RemoteException.Exception {
	case "FileNotFoundException":
		return fs.ErrNotExist
	case "FileAlreadyExistsException":
		return fs.ErrExist
	case "AccessControlException":
		return fmt.Errorf("%w: %s", fs.ErrPermission, message)
	}
	return fmt.Errorf("%s: %s", answer.RemoteException.Exception, message)
}

// cause returns the error below HTTP, with the address but without the URL.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return fmt.Errorf("no such host: %s", dns.Name)
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Addr != nil {
		return fmt.Errorf("%s %s: %w", op.Op, op.Addr, innermost(op.Err))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the connection was lost")
	}
	return err
}

// innermost returns the error at the end of the chain of err, usually a syscall.Errno.
func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// param returns n as the value of a URL parameter.
func param(n int64) []string { return []string{strconv.FormatInt(n, 10)} }
