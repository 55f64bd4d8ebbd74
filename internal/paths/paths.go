// Package paths finds the places to which names of files lead. It also finds names
// that collide. Names collide if a result overwrites an input, if a file lies inside
// an output, or if two jobs write to one place.
//
// It compares names in two ways. Files that exist are compared by os.SameFile, so
// that links and other spellings of a name do not matter. Files that do not exist
// yet are compared by their absolute names without links.
//
// It also has the names of the files that mrlocal makes for results.
//
// The package opens and makes no files, and has no state. Packages output and engine
// and the command write most messages themselves, because they have the name that the
// user has given.
package paths

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"mrlocal/internal/errs"
)

// maxLinks is the most symbolic links that may lead to a file, as in Linux.
const maxLinks = 40

// ParentError is the error of a file whose directory cannot be found.
type ParentError struct {
	Dir string // as it stands in the name
	Err error  // of os
}

func (e *ParentError) Error() string { return fmt.Sprintf("directory %s: %v", e.Dir, e.Err) }

// Unwrap returns the error of os.
func (e *ParentError) Unwrap() error { return e.Err }

// Resolve follows the symbolic links of name, as the system does when it makes a file. The
// file to which the last link leads need not exist. It returns an absolute path without
// links, and the file there; info is nil if there is none. It fails with a *ParentError if
// the parent directory does not exist or may not be searched. It fails with the error of os
// if the file itself cannot be examined.
func Resolve(name string) (path string, info fs.FileInfo, err error) {
	for range maxLinks {
		if path, err = resolveParent(name); err != nil {
			return "", nil, err
		}
		info, err = os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, nil, nil
		case err != nil:
			return "", nil, err
		case info.Mode()&fs.ModeSymlink == 0:
			return path, info, nil
		}
		if name, err = os.Readlink(path); err != nil {
			return "", nil, err
		}
		// A relative link counts from the directory that it lies in.
		if !filepath.IsAbs(name) {
			name = filepath.Dir(path) + string(filepath.Separator) + name // not Join: it would drop link/..
		}
	}
	return "", nil, syscall.ELOOP
}

// resolveParent resolves all but the last element of name. It does not clean
// the name first: `link/..` is the parent of the directory to which link leads.
func resolveParent(name string) (string, error) {
	name = trimSeparators(name)
	dir, base := filepath.Split(name)
	// A name that ends with . or .. is a directory, and all of it must exist.
	if base == "." || base == ".." {
		dir, base = name, ""
	}
	dir = cmp.Or(dir, ".")
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", &ParentError{trimSeparators(dir), err}
	}
	return filepath.Abs(filepath.Join(real, base))
}

// trimSeparators drops separators at the end of name.
func trimSeparators(name string) string {
	for len(name) > 1 && os.IsPathSeparator(name[len(name)-1]) {
		name = name[:len(name)-1]
	}
	return name
}

// Locate returns the absolute path to which name leads, without links as far as
// directories exist. Unlike Resolve it never fails. Two names have the same path if
// they lead to the same place once the missing directories are made.
func Locate(name string) string {
	if path, _, err := Resolve(name); err == nil {
		return path
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return filepath.Clean(name)
	}
	// The directory above may exist, and may be reached through a link.
	if dir := filepath.Dir(abs); dir != abs {
		return filepath.Join(Locate(dir), filepath.Base(abs))
	}
	return abs
}

// Overlap reports whether two names lead to one place, or one lies inside the other. The files need
// not exist.
func Overlap(a, b string) bool {
	a, b = Locate(a)+string(filepath.Separator), Locate(b)+string(filepath.Separator)
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// Above returns the files that exist at path and above it, from path to the
// root. path is absolute.
func Above(path string) (files []fs.FileInfo) {
	for ; ; path = filepath.Dir(path) {
		if info, err := os.Stat(path); err == nil {
			files = append(files, info)
		}
		if path == filepath.Dir(path) {
			return files
		}
	}
}

// Same returns the first of names that leads to the file info; false: there is none.
func Same(info fs.FileInfo, names []string) (name string, same bool) {
	return among([]fs.FileInfo{info}, names)
}

// Enclosing returns the first of names that leads to the file at path or a directory above it;
// false: there is none. path is absolute and without links.
func Enclosing(path string, names []string) (name string, encloses bool) {
	return among(Above(path), names)
}

// among returns the first of names that leads to one of files; false: there is none.
func among(files []fs.FileInfo, names []string) (string, bool) {
	for _, name := range names {
		info, err := os.Stat(name)
		if err == nil && contains(files, info) {
			return name, true
		}
	}
	return "", false
}

// contains reports whether info is one of files.
func contains(files []fs.FileInfo, info fs.FileInfo) bool {
	return slices.ContainsFunc(files, func(f fs.FileInfo) bool { return os.SameFile(f, info) })
}

// Inside returns the first of names that lies in the directory dir, at any depth; false: there is
// none.
func Inside(dir fs.FileInfo, names []string) (name string, inside bool) {
	known := map[string]bool{} // by parent, because many names have the same parent
	for _, name := range names {
		path, err := filepath.EvalSymlinks(name)
		if err != nil {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			continue
		}
		parent := filepath.Dir(path)
		found, looked := known[parent]
		if !looked {
			found = contains(Above(parent), dir)
			known[parent] = found
		}
		if found {
			return name, true
		}
	}
	return "", false
}

// Expand returns the names of the files of inputs. A name that exists is literal, and any other
// name with a wildcard is a glob. Expand leaves out standard input ("-"), and globs that match
// nothing.
func Expand(inputs []string) (names []string) {
	for _, in := range inputs {
		if in == "-" {
			continue
		}
		if _, glob := globRoot(in); !glob {
			names = append(names, in)
			continue
		}
		matches, _ := filepath.Glob(in)
		names = append(names, matches...)
	}
	return names
}

// globRoot returns the file or directory from which an input is read: name itself if it exists or
// has no wildcard. Otherwise name is a glob, and root is the directory above its first wildcard.
func globRoot(name string) (root string, glob bool) {
	if _, err := os.Lstat(name); err == nil || !HasWildcard(name) {
		return name, false
	}
	for HasWildcard(name) {
		name = filepath.Dir(name)
	}
	return name, true
}

// HasWildcard reports whether name has characters with a meaning in a glob.
func HasWildcard(name string) bool {
	return strings.ContainsAny(name, `*?[`) || filepath.Separator == '/' && strings.Contains(name, `\`)
}

// The rest has the names that mrlocal gives to part files, named outputs and directories of
// attempts. It also has the hidden names next to a result that is being written. Files of users
// are not likely to have them. Package output makes and removes the files.

// A hidden name is a dot, the name of the result, besideMark and random hex digits.
const (
	besideMark  = ".mrlocal-"
	randomBytes = 8

	// besideBaseBytes is the length to which the name of the result is cut, because file systems
	// limit names to 255 bytes.
	besideBaseBytes = 200
)

// Beside returns a new hidden name in the directory of path, so that a rename can put the file in
// the place of path. With 64 random bits, two runs practically never get the same name.
func Beside(path string) string { return BesidePrefix(path) + Random() }

// Random returns 64 random bits as hexadecimal digits, for a name.
func Random() string {
	var b [randomBytes]byte
	rand.Read(b[:]) // never fails, says its documentation
	return hex.EncodeToString(b[:])
}

// Claim returns the hidden name next to path that is the same for all runs.
func Claim(path string) string { return BesidePrefix(path) + strings.Repeat("0", 2*randomBytes) }

// BesidePrefix returns the prefix of all hidden names next to path. It cuts a long name at the start
// of a character.
func BesidePrefix(path string) string {
	base := filepath.Base(path)
	if len(base) > besideBaseBytes {
		cut := besideBaseBytes
		for cut > besideBaseBytes-utf8.UTFMax && !utf8.RuneStart(base[cut]) {
			cut--
		}
		base = base[:cut]
	}
	return filepath.Join(filepath.Dir(path), "."+base+besideMark)
}

// IsBeside reports whether Beside or Claim may have made a name. It returns false for similar names
// of files of the user.
func IsBeside(name string) bool {
	at := strings.LastIndex(name, besideMark)
	if at < 1 || name[0] != '.' {
		return false
	}
	random := name[at+len(besideMark):]
	return len(random) == 2*randomBytes && strings.Trim(random, "0123456789abcdef") == ""
}

// PartName matches the names of part files, and of the files of named outputs. Task numbers have at
// least five digits, as in Hadoop. Compressed files have a suffix.
func PartName() *regexp.Regexp {
	return regexp.MustCompile(`^(part-|[0-9A-Za-z]{1,64}-[mr]-)[0-9]{5,}(\.gz|\.zst|\.bz2|\.deflate)?$`)
}

// WorkName matches the names of the directories in `_temporary` in which attempts write.
func WorkName() *regexp.Regexp {
	return regexp.MustCompile(`^(attempt_[mr]_[0-9]{6,}_[0-9]+|task_[mr]_[0-9]{6,})$`)
}

// KindLetter returns the letter for the kind of task in Hadoop's names of files.
func KindLetter(mapOnly bool) string {
	if mapOnly {
		return "m"
	}
	return "r"
}

// JobFiles are the names of the files that a job of a batch reads and writes.
type JobFiles struct {
	Name   string // for messages
	Inputs []string
	Output string // "": no file
	After  []int  // indices in the batch of the jobs that end before this one starts
}

// BatchInputs are the inputs of a batch that exist before it starts.
type BatchInputs struct {
	Existing [][]string // of each job: inputs that no other job makes
	Later    bool       // some job reads the output of another one
}

// CheckBatch checks the files of all jobs against each other, by their names. It fails if two
// outputs overlap, or if an output lies inside an input. It also fails if a job reads the output of
// another one without waiting for it. refused is the index of the job that is wrong.
func CheckBatch(jobs []JobFiles) (in *BatchInputs, refused int, err error) {
	b := &batch{
		jobs: jobs, outputs: map[string]int{}, outputAt: make([]string, len(jobs)), readers: map[string][]reader{}, located: map[string]string{},
		seen: make([]int32, len(jobs)), in: BatchInputs{Existing: make([][]string, len(jobs))},
	}
	for i := range jobs {
		if err := b.addOutput(i); err != nil {
			return nil, i, err
		}
	}
	for i := range jobs {
		for _, name := range jobs[i].Inputs {
			if err := b.addInput(i, name); err != nil {
				return nil, i, err
			}
		}
	}
	for i, path := range b.outputAt {
		if path == "" {
			continue
		}
		if err := b.checkOutput(path, i); err != nil {
			return nil, i, err
		}
	}
	return &b.in, 0, nil
}

// batch has the places where the jobs read and write. Paths are those of Locate.
type batch struct {
	jobs     []JobFiles
	outputs  map[string]int      // job that writes to a path
	outputAt []string            // path of each job's output; "": a device, or none
	readers  map[string][]reader // by the path from which they read
	located  map[string]string   // results of Locate, because many jobs share directories
	seen     []int32             // for waitsFor: round in which a job was last visited
	round    int32
	in       BatchInputs
}

// reader is a job that reads a file, all files below a directory, or the files that match a glob.
type reader struct {
	job  int
	name string // as the user named it
	glob string // with the path of its root; "": no glob
}

// addOutput notes where job i writes. It fails if another job writes there too. Several jobs may
// write to one device or pipe.
func (b *batch) addOutput(i int) error {
	name := b.jobs[i].Output
	if name == "" {
		return nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil
	}
	path := b.locate(name)
	if other, taken := b.outputs[path]; taken {
		return errs.Optionf("output "+name, "is the output of job %s too", b.jobs[other].Name)
	}
	b.outputs[path], b.outputAt[i] = i, path
	return nil
}

// addInput notes an input of job i. If another job makes it, job i must wait for that job.
func (b *batch) addInput(i int, name string) error {
	if name == "-" || name == "" {
		b.in.Existing[i] = append(b.in.Existing[i], name)
		return nil
	}
	root, glob := globRoot(name)
	path := b.locate(root)
	r := reader{job: i, name: name}
	if glob {
		r.glob = filepath.Join(path, strings.TrimPrefix(filepath.Clean(name), filepath.Clean(root)))
	}
	b.readers[path] = append(b.readers[path], r)
	for at := path; ; at = filepath.Dir(at) {
		if writer, made := b.outputs[at]; made && writer != i {
			if !b.waitsFor(i, writer) {
				return errs.Optionf(name, "is written by job %s; list that job under after", b.jobs[writer].Name)
			}
			b.in.Later = true
			return nil
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	b.in.Existing[i] = append(b.in.Existing[i], name)
	return nil
}

// checkOutput fails if the output of job i, at path, lies inside another output. It also fails if the
// output lies inside an input of a job that may run at the same time.
func (b *batch) checkOutput(path string, i int) error {
	name := b.jobs[i].Output
	for at := path; ; at = filepath.Dir(at) {
		if other, made := b.outputs[at]; made && other != i {
			return errs.Optionf("output "+name, "lies inside the output of job %s", b.jobs[other].Name)
		}
		for _, r := range b.readers[at] {
			// Two jobs never run at the same time if one waits for the other.
			if r.job == i || r.glob != "" && !matches(r.glob, path) || b.waitsFor(i, r.job) || b.waitsFor(r.job, i) {
				continue
			}
			return errs.Optionf("output "+name, "lies inside %s, which job %s reads; let one wait for the other (after)", r.name, b.jobs[r.job].Name)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// matches reports whether glob matches path or a directory above it.
func matches(glob, path string) bool {
	for depth := strings.Count(glob, string(filepath.Separator)); strings.Count(path, string(filepath.Separator)) > depth; {
		// A glob that matches a directory reads everything below it.
		path = filepath.Dir(path)
	}
	ok, err := filepath.Match(glob, path)
	return ok && err == nil
}

// locate is Locate, but calls it only once for each name.
func (b *batch) locate(name string) string {
	if path, known := b.located[name]; known {
		return path
	}
	path := Locate(name)
	b.located[name] = path
	return path
}

// waitsFor reports whether job i starts only after job j has ended.
func (b *batch) waitsFor(i, j int) bool {
	// With a new round number, no job counts as visited, and seen need not be cleared.
	b.round++
	stack := []int{i}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, before := range b.jobs[at].After {
			if before == j {
				return true
			}
			if b.seen[before] != b.round {
				b.seen[before] = b.round
				stack = append(stack, before)
			}
		}
	}
	return false
}
