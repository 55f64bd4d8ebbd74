package study

import (
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strings"
	"sync"

	"mrlocal/internal/errs"
	"mrlocal/workload"
)

// Files parses the workload file of a sweep, once for each configuration that changes it with --set.
// Several goroutines may call Of at once. They get the same *workload.File, so they must not change it.
type Files struct {
	Name string // of the file, for messages
	text []byte

	mu struct {
		sync.Mutex
		parsed map[[mostSets]int64]func() (*workload.File, error) // by Configuration.Set; the first call parses
	}
}

// mostParsed bounds how many parsed files are kept. Runs of the same configuration follow one another,
// so a few are enough.
const mostParsed = 64

// ReadFiles reads the workload file of that name, or stdin if the name is -. It also returns the
// file as it is without changes. It fails if the file cannot be read or is not valid.
func ReadFiles(name string, stdin io.Reader) (*Files, *workload.File, error) {
	f := &Files{Name: name}
	var err error
	if name == "-" {
		f.Name = "standard input"
		f.text, err = io.ReadAll(stdin)
	} else {
		f.text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, nil, errs.Inputf(f.Name, "%w", errs.Cause(err))
	}
	plain, err := workload.Parse(f.Name, f.text)
	return f, plain, err
}

// Of returns the workload file with the changes of configuration c of p. The caller must not change the
// file. Of fails if a changed value is not valid.
func (f *Files) Of(p *Plan, c *Configuration) (*workload.File, error) {
	f.mu.Lock()
	// A full map is replaced as a whole. The runs that use its files keep them.
	if len(f.mu.parsed) >= mostParsed || f.mu.parsed == nil {
		f.mu.parsed = map[[mostSets]int64]func() (*workload.File, error){}
	}
	of := f.mu.parsed[c.Set]
	if of == nil {
		of = sync.OnceValues(func() (*workload.File, error) { return workload.ParseChanged(f.Name, f.text, p.Changes(c)) })
		f.mu.parsed[c.Set] = of
	}
	f.mu.Unlock()
	// Parsing happens outside of the lock, so that it delays only runs of the same configuration.
	return of()
}

// Check parses the file once for each value of each --set, with the other settings at their first
// value. It finds wrong values before the first run, and not after hours.
func (f *Files) Check(p *Plan) error {
	for k, set := range p.sets {
		for i := range set.Values {
			c := Configuration{}
			c.Set[k] = int64(i)
			if _, err := f.Of(p, &c); err != nil {
				return err
			}
		}
	}
	return nil
}

// Key returns a digest of the file and of the settings that are not swept: 16 hexadecimal digits.
// Results with another key come from another sweep.
func (f *Files) Key(settings []string) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s", f.text, strings.Join(settings, "\x00"))
	return fmt.Sprintf("%016x", h.Sum64())
}
