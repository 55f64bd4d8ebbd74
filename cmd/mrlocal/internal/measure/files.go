package measure

import (
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strings"
	"sync"

	"mrlocal/errs"
	"mrlocal/workload"
)

// Files parses the workload file of a sweep, once for each configuration that changes it (--set).
// Several runs may ask at once. They share a File, so they only read it.
type Files struct {
	Name string
	text []byte

	mu struct {
		sync.Mutex
		parsed map[[mostSets]int64]*parsed
	}
}

// parsed is a file that the first run to ask for it reads.
type parsed struct {
	once sync.Once
	file *workload.File
	err  error
}

// mostParsed bounds how many files are kept. Runs of a configuration follow one another.
const mostParsed = 64

// ReadFiles reads a workload file, or stdin if the name is -. It returns the file without
// changes, too.
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

// Of returns the file of a configuration.
func (f *Files) Of(p *Plan, c *Configuration) (*workload.File, error) {
	f.mu.Lock()
	if len(f.mu.parsed) >= mostParsed || f.mu.parsed == nil {
		f.mu.parsed = map[[mostSets]int64]*parsed{}
	}
	of := f.mu.parsed[c.Set]
	if of == nil {
		of = &parsed{}
		f.mu.parsed[c.Set] = of
	}
	f.mu.Unlock()
	of.once.Do(func() { of.file, of.err = workload.ParseChanged(f.Name, f.text, p.Changes(c)) })
	return of.file, of.err
}

// Check parses the file once for each value of each setting, so that a sweep of hours does
// not end at a wrong value.
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

// Key names the file and the settings of a sweep that are not swept, in 16 digits.
func (f *Files) Key(settings []string) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s", f.text, strings.Join(settings, "\x00"))
	return fmt.Sprintf("%016x", h.Sum64())
}
