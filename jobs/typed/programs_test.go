package typed_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mrlocal"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
)

// The programs in examples with typed jobs are compared with the same jobs of bytes.

// ---- sessions

type visitMapper struct{ key []byte }

func (m *visitMapper) Map(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		user, rest, ok := bytes.Cut(line, []byte{','})
		at, _, also := bytes.Cut(rest, []byte{','})
		if !ok || !also {
			return fmt.Errorf("the line %q has too few columns", line)
		}
		t, err := time.Parse(time.RFC3339, string(at))
		if err != nil {
			return err
		}
		m.key = append(append(m.key[:0], user...), 0)
		m.key = jobs.AppendDescending(m.key, ^uint64(t.Unix()))
		out.Emit(m.key, nil)
	}
	return nil
}

type sessionReducer struct{ line []byte }

func (r *sessionReducer) Reduce(key []byte, visits *jobs.Values, out jobs.Emitter) error {
	n := bytes.IndexByte(key, 0)
	var begin, end, pages int64
	emit := func() {
		r.line = append(append(r.line[:0], key[:n]...), '\t')
		r.line = append(time.Unix(begin, 0).UTC().AppendFormat(r.line, time.RFC3339), '\t')
		r.line = append(time.Unix(end, 0).UTC().AppendFormat(r.line, time.RFC3339), '\t')
		out.Emit(nil, strconv.AppendInt(r.line, pages, 10))
	}
	for visits.Next() {
		at := int64(^jobs.Descending(visits.Key()[n+1:]))
		if pages > 0 && at-end > 30*60 {
			emit()
			pages = 0
		}
		if pages == 0 {
			begin = at
		}
		end = at
		pages++
	}
	emit()
	return nil
}

func byteSessions() jobs.Chain {
	return jobs.Chain{{
		NewMapper:  func() jobs.Mapper { return &visitMapper{} },
		NewReducer: func() jobs.Reducer { return &sessionReducer{} },
		GroupBytes: func(key []byte) int { return bytes.IndexByte(key, 0) + 1 },
	}}
}

// ---- top

type saleMapper struct{ key []byte }

func (m *saleMapper) Map(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		var s struct {
			Shop  string
			Price float64
			Item  string
		}
		if err := json.Unmarshal(line, &s); err != nil {
			return err
		}
		if s.Price < 0 {
			return fmt.Errorf("the price %v", s.Price)
		}
		m.key = append(append(m.key[:0], s.Shop...), 0)
		m.key = jobs.AppendDescending(m.key, uint64(s.Price*100+0.5))
		m.key = append(m.key, s.Item...)
		out.Emit(m.key, []byte(strconv.FormatFloat(s.Price, 'g', -1, 64)))
	}
	return nil
}

func byteTop() jobs.Chain {
	group := func(key []byte) int { return bytes.IndexByte(key, 0) + 1 }
	return jobs.Chain{{
		Ordered: true, GroupBytes: group,
		NewMapper: func() jobs.Mapper { return &saleMapper{} },
		NewReducer: func() jobs.Reducer {
			return jobs.ReducerFunc(func(key []byte, sales *jobs.Values, out jobs.Emitter) error {
				for n := 0; n < 10 && sales.Next(); n++ {
					at := group(sales.Key())
					out.Emit(nil, bytes.Join([][]byte{key[:at-1], sales.Value(), sales.Key()[at+8:]}, []byte{'\t'}))
				}
				return nil
			})
		},
	}}
}

// ---- join

type sideMapper struct{ key []byte }

func (m *sideMapper) Map(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		id, rest, ok := bytes.Cut(line, []byte{','})
		if !ok {
			return fmt.Errorf("the line %q has one column", line)
		}
		m.key = append(append(m.key[:0], id...), 0, byte(min(b.Input, 1)))
		out.Emit(m.key, rest)
	}
	return nil
}

func byteJoin() jobs.Chain {
	group := func(key []byte) int { return bytes.IndexByte(key, 0) + 1 }
	return jobs.Chain{{
		GroupBytes: group,
		NewMapper:  func() jobs.Mapper { return &sideMapper{} },
		NewReducer: func() jobs.Reducer {
			return jobs.ReducerFunc(func(key []byte, rows *jobs.Values, out jobs.Emitter) error {
				var names [][]byte
				for rows.Next() {
					if rows.Key()[group(key)] == 0 {
						names = append(names, bytes.Clone(rows.Value()))
						continue
					}
					for _, name := range names {
						out.Emit(name, rows.Value())
					}
				}
				return nil
			})
		},
	}}
}

// ---- chain

func byteChain() jobs.Chain {
	return jobs.Chain{{
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return jobs.NewSum() },
		NewMapper: func() jobs.Mapper {
			return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
				for line := range b.Lines() {
					for w := range bytes.FieldsSeq(line) {
						out.Emit(w, jobs.AppendUint64(nil, 1))
					}
				}
				return nil
			})
		},
	}, {
		Ordered: true,
		NewMapper: func() jobs.Mapper {
			return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
				for word, count := range b.Pairs() {
					n, err := strconv.ParseUint(string(count), 10, 64)
					if err != nil {
						return err
					}
					out.Emit(append(jobs.AppendDescending(nil, n), word...), nil)
				}
				return nil
			})
		},
		NewReducer: func() jobs.Reducer {
			return jobs.ReducerFunc(func(key []byte, _ *jobs.Values, out jobs.Emitter) error {
				out.Emit(strconv.AppendUint(nil, jobs.Descending(key), 10), key[8:])
				return nil
			})
		},
	}}
}

// TestTypedExamples compares the output of each program with that of its job of bytes, as sorted lines where the
// order of both is that of hashes.
func TestTypedExamples(t *testing.T) {
	dir := t.TempDir()
	examples := []string{"./join", "./sessions", "./top", "./chain"}[:testkit.Rounds(4)] // to link one takes half a second
	build := exec.Command("go", append([]string{"build", "-ldflags=-w", "-o", dir + string(filepath.Separator)}, examples...)...)
	build.Dir = "../../examples"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var visits, sales, users, items, words strings.Builder
	for range 3000 {
		at := time.Date(2024, 1, 1+rng.IntN(3), rng.IntN(24), rng.IntN(60), rng.IntN(60), 0, time.UTC)
		fmt.Fprintf(&visits, "user%d,%s,/%d\n", rng.IntN(40), at.Format(time.RFC3339), rng.IntN(9))
		fmt.Fprintf(&sales, `{"shop":"shop %d","price":%.2f,"item":"i%d"}`+"\n", rng.IntN(50), rng.Float64()*100, rng.IntN(99))
		fmt.Fprintf(&items, "%d,item %d\n", rng.IntN(120), rng.IntN(1000))
		fmt.Fprintf(&words, "w%d w%d\n", rng.IntN(40), rng.IntN(300))
	}
	for id := range 100 {
		fmt.Fprintf(&users, "%d,name %d\n", id, id)
	}
	for name, c := range map[string]struct {
		chain   jobs.Chain
		texts   []string
		ordered bool
	}{
		"sessions": {byteSessions(), []string{visits.String()}, false},
		"top":      {byteTop(), []string{sales.String()}, true},
		"join":     {byteJoin(), []string{users.String(), items.String()}, false},
		"chain":    {byteChain(), []string{words.String()}, true},
	} {
		if !slices.Contains(examples, "./"+name) {
			continue
		}
		var inputs []string
		for i, text := range c.texts {
			inputs = append(inputs, filepath.Join(dir, fmt.Sprint(name, ".", i)))
			if err := os.WriteFile(inputs[i], []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var want bytes.Buffer
		if _, err := mrlocal.RunChain(t.Context(), c.chain, mrlocal.Options{JobOptions: mrlocal.JobOptions{Inputs: inputs, Stdout: &want}}); err != nil {
			t.Fatal(err)
		}
		got, err := exec.Command(filepath.Join(dir, name), inputs...).Output()
		a, b := strings.Split(string(got), "\n"), strings.Split(want.String(), "\n")
		if !c.ordered {
			slices.Sort(a)
			slices.Sort(b)
		}
		if err != nil || !slices.Equal(a, b) || len(a) < 100 {
			t.Errorf("%s: %v, %d lines, want %d:\n%.200s\nwant\n%.200s", name, err, len(a), len(b), strings.Join(a, "\n"), strings.Join(b, "\n"))
		}
	}
}
