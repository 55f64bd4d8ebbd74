package puma_test

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"mrlocal/jobs/puma"
)

// This file has a straightforward program for each job of the papers. A program is written for one
// job only. It has two threads, and uses Go's maps and slices and the standard library's sorts, all
// in memory. It is the reference for the answers and for the speed of the job.

// doc is the name and the text of an input file.
type doc struct {
	name string
	data []byte
}

// read reads the files.
func read(paths []string) (docs []doc) {
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			panic(err)
		}
		docs = append(docs, doc{p, data})
	}
	return docs
}

// twice calls work for both halves of each document, on two threads. Halves are cut after a newline.
func twice(docs []doc, work func(thread int, d doc)) {
	var both sync.WaitGroup
	for thread := range 2 {
		both.Go(func() {
			for _, d := range docs {
				cut := len(d.data) / 2
				if i := bytes.IndexByte(d.data[cut:], '\n'); i >= 0 {
					cut += i + 1
				} else {
					cut = len(d.data)
				}
				half := d.data[:cut]
				if thread == 1 {
					half = d.data[cut:]
				}
				work(thread, doc{d.name, half})
			}
		})
	}
	both.Wait()
}

// lines calls each for every line that is not empty.
func lines(data []byte, each func(line []byte)) {
	for len(data) > 0 {
		n := bytes.IndexByte(data, '\n')
		if n < 0 {
			n = len(data)
		}
		if n > 0 {
			each(data[:n])
		}
		data = data[min(n+1, len(data)):]
	}
}

// words calls each for every word of a text.
func words(data []byte, each func(word []byte)) {
	blank := func(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }
	for i := 0; i < len(data); {
		for i < len(data) && blank(data[i]) {
			i++
		}
		begin := i
		for i < len(data) && !blank(data[i]) {
			i++
		}
		if i > begin {
			each(data[begin:i])
		}
	}
}

// add adds n to the count of a key.
func add(m map[string]*int, key []byte) {
	if n := m[string(key)]; n != nil {
		*n++
		return
	}
	one := 1
	m[string(key)] = &one
}

// merged returns the sums of the counts in two maps.
func merged(ms [2]map[string]*int) map[string]*int {
	for k, n := range ms[1] {
		if old := ms[0][k]; old != nil {
			*old += *n
		} else {
			ms[0][k] = n
		}
	}
	return ms[0]
}

// keys returns the keys of a map in order.
func keys[V any](m map[string]V) []string {
	all := make([]string, 0, len(m))
	for k := range m {
		all = append(all, k)
	}
	sort.Strings(all)
	return all
}

func straightCombine(docs []doc, _ []byte) []byte {
	ms := [2]map[string]*int{{}, {}}
	twice(docs, func(t int, d doc) { words(d.data, func(w []byte) { add(ms[t], w) }) })
	m := merged(ms)
	var out []byte
	for _, k := range keys(m) {
		out = fmt.Appendf(out, "%s\t%d\n", k, *m[k])
	}
	return out
}

func straightInvertedIndex(docs []doc, _ []byte) []byte {
	ms := [2]map[string]map[string]bool{{}, {}}
	twice(docs, func(t int, d doc) {
		words(d.data, func(w []byte) {
			in := ms[t][string(w)]
			if in == nil {
				in = map[string]bool{}
				ms[t][string(w)] = in
			}
			in[d.name] = true
		})
	})
	for w, in := range ms[1] {
		if ms[0][w] == nil {
			ms[0][w] = in
		}
		for d := range in {
			ms[0][w][d] = true
		}
	}
	var out []byte
	for _, w := range keys(ms[0]) {
		out = append(append(out, w...), '\t')
		out = append(append(out, strings.Join(keys(ms[0][w]), ",")...), '\n')
	}
	return out
}

func straightSequenceCount(docs []doc, _ []byte) []byte {
	ms := [2]map[string]*int{{}, {}}
	twice(docs, func(t int, d doc) {
		var key []byte
		lines(d.data, func(line []byte) {
			var a, b []byte
			words(line, func(w []byte) {
				if a != nil {
					key = append(append(append(append(key[:0], a...), '|'), b...), '|')
					key = append(append(append(key, w...), '|'), d.name...)
					add(ms[t], key)
				}
				a, b = b, w
			})
		})
	})
	m := merged(ms)
	var out []byte
	for _, k := range keys(m) {
		out = fmt.Appendf(out, "%s\t%d\n", k, *m[k])
	}
	return out
}

func straightRanked(docs []doc, _ []byte) []byte {
	type ranked struct {
		n   int
		doc string
	}
	ms := [2]map[string][]ranked{{}, {}}
	twice(docs, func(t int, d doc) {
		lines(d.data, func(line []byte) {
			tab := bytes.LastIndexByte(line, '\t')
			bar := bytes.LastIndexByte(line[:tab], '|')
			n, err := strconv.Atoi(string(line[tab+1:]))
			if err != nil {
				panic(err)
			}
			ms[t][string(line[:bar])] = append(ms[t][string(line[:bar])], ranked{n, string(line[bar+1 : tab])})
		})
	})
	for k, v := range ms[1] {
		ms[0][k] = append(ms[0][k], v...)
	}
	var out []byte
	for _, k := range keys(ms[0]) {
		all := ms[0][k]
		slices.SortFunc(all, func(a, b ranked) int { return cmp.Or(b.n-a.n, strings.Compare(a.doc, b.doc)) })
		out = append(append(out, k...), '\t')
		for i, r := range all {
			if i > 0 {
				out = append(out, ',')
			}
			out = fmt.Appendf(out, "%d|%s", r.n, r.doc)
		}
		out = append(out, '\n')
	}
	return out
}

func straightTermVector(docs []doc, _ []byte) []byte {
	var out []byte
	for _, d := range docs {
		ms := [2]map[string]*int{{}, {}}
		twice([]doc{d}, func(t int, d doc) { words(d.data, func(w []byte) { add(ms[t], w) }) })
		m := merged(ms)
		var list []string
		for w, n := range m {
			if *n >= 10 {
				list = append(list, w)
			}
		}
		slices.SortFunc(list, func(a, b string) int { return cmp.Or(*m[b]-*m[a], strings.Compare(a, b)) })
		for i, w := range list {
			out = append(out, "\t,"[min(i, 1)])
			if i == 0 {
				out = append(append(out[:len(out)-1], d.name...), '\t')
			}
			out = fmt.Appendf(out, "%s:%d", w, *m[w])
		}
		if len(list) > 0 {
			out = append(out, '\n')
		}
	}
	return out
}

func straightSelfJoin(docs []doc, _ []byte) []byte {
	ms := [2]map[string][]string{{}, {}}
	twice(docs, func(t int, d doc) {
		lines(d.data, func(line []byte) {
			comma := bytes.LastIndexByte(line, ',')
			ms[t][string(line[:comma])] = append(ms[t][string(line[:comma])], string(line[comma+1:]))
		})
	})
	for k, v := range ms[1] {
		ms[0][k] = append(ms[0][k], v...)
	}
	var out []byte
	for _, k := range keys(ms[0]) {
		slices.Sort(ms[0][k])
		out = append(append(append(append(out, k...), '\t'), strings.Join(slices.Compact(ms[0][k]), ",")...), '\n')
	}
	return out
}

func straightAdjacency(docs []doc, _ []byte) []byte {
	type node struct{ from, to []string }
	ms := [2]map[string]*node{{}, {}}
	of := func(m map[string]*node, name string) *node {
		if m[name] == nil {
			m[name] = &node{}
		}
		return m[name]
	}
	twice(docs, func(t int, d doc) {
		lines(d.data, func(line []byte) {
			p, q, _ := strings.Cut(string(line), "\t")
			of(ms[t], p).to = append(of(ms[t], p).to, q)
			of(ms[t], q).from = append(of(ms[t], q).from, p)
		})
	})
	for k, v := range ms[1] {
		n := of(ms[0], k)
		n.from, n.to = append(n.from, v.from...), append(n.to, v.to...)
	}
	var out []byte
	for _, k := range keys(ms[0]) {
		n := ms[0][k]
		slices.Sort(n.from)
		slices.Sort(n.to)
		out = append(append(append(out, k...), '\t'), strings.Join(slices.Compact(n.from), ",")...)
		out = append(append(append(out, '\t'), strings.Join(slices.Compact(n.to), ",")...), '\n')
	}
	return out
}

// ratings calls movie with the ratings of each movie.
func ratings(data []byte, movie func([]int)) {
	var all []int
	lines(data, func(line []byte) {
		_, rest, _ := bytes.Cut(line, []byte(":"))
		all = all[:0]
		for len(rest) > 0 {
			var review []byte
			review, rest, _ = bytes.Cut(rest, []byte(","))
			_, rating, _ := bytes.Cut(review, []byte("_"))
			n, err := strconv.Atoi(string(rating))
			if err != nil {
				panic(err)
			}
			all = append(all, n)
		}
		movie(all)
	})
}

func straightHistogramRatings(docs []doc, _ []byte) []byte {
	var counts [2][256]int
	twice(docs, func(t int, d doc) {
		ratings(d.data, func(all []int) {
			for _, r := range all {
				counts[t][r]++
			}
		})
	})
	var out []byte
	for r := range counts[0] {
		if n := counts[0][r] + counts[1][r]; n > 0 {
			out = fmt.Appendf(out, "%d\t%d\n", r, n)
		}
	}
	return out
}

func straightHistogramMovies(docs []doc, _ []byte) []byte {
	var counts [2][513]int
	twice(docs, func(t int, d doc) {
		ratings(d.data, func(all []int) {
			sum := 0
			for _, r := range all {
				sum += r
			}
			if len(all) > 0 {
				counts[t][2*sum/len(all)+1]++
			}
		})
	})
	var out []byte
	for b := range counts[0] {
		if n := counts[0][b] + counts[1][b]; n > 0 {
			out = fmt.Appendf(out, "%.1f\t%d\n", float64(b)/2, n)
		}
	}
	return out
}

// point reads the coordinates of a point, in millionths.
func point(dst []int64, line []byte) []int64 {
	words(line, func(w []byte) {
		x, err := strconv.ParseFloat(string(w), 64)
		if err != nil {
			panic(err)
		}
		dst = append(dst, int64(math.Round(x*1e6)))
	})
	return dst
}

// nearest returns the index of the nearest centroid.
func nearest(p []int64, centroids [][]int64) int {
	best, index := math.Inf(1), 0
	for i, c := range centroids {
		sum := 0.0
		for k := range c {
			d := float64(p[k]) - float64(c[k])
			sum += float64(d * d)
		}
		if sum < best {
			best, index = sum, i
		}
	}
	return index
}

// centroidsOf reads lines of "name TAB point".
func centroidsOf(text []byte) (all [][]int64) {
	lines(text, func(line []byte) {
		_, p, _ := bytes.Cut(line, []byte("\t"))
		all = append(all, point(nil, p))
	})
	return all
}

func straightKMeans(docs []doc, _ []byte) []byte {
	const k, rounds = 10, 5
	var drawn [2][]string
	hash := func(s string) uint32 { return crc32.Checksum([]byte(s), crc32.MakeTable(crc32.Castagnoli)) }
	order := func(a, b string) int { return cmp.Or(cmp.Compare(hash(a), hash(b)), strings.Compare(a, b)) }
	twice(docs, func(t int, d doc) {
		lines(d.data, func(line []byte) {
			if s := string(line); len(drawn[t]) < k || order(s, drawn[t][k-1]) < 0 {
				drawn[t] = append(drawn[t], s)
				slices.SortFunc(drawn[t], order)
				drawn[t] = slices.Compact(drawn[t])
				drawn[t] = drawn[t][:min(k, len(drawn[t]))]
			}
		})
	})
	first := append(drawn[0], drawn[1]...)
	slices.SortFunc(first, order)
	first = slices.Compact(first)
	var centroids [][]int64
	for _, s := range first[:min(k, len(first))] {
		centroids = append(centroids, point(nil, []byte(s)))
	}
	for range rounds {
		var sums, counts [2][][]int64
		for t := range 2 {
			for _, c := range centroids {
				sums[t], counts[t] = append(sums[t], make([]int64, len(c))), append(counts[t], make([]int64, 1))
			}
		}
		twice(docs, func(t int, d doc) {
			var p []int64
			lines(d.data, func(line []byte) {
				p = point(p[:0], line)
				i := nearest(p, centroids)
				counts[t][i][0]++
				for x := range p {
					sums[t][i][x] += p[x]
				}
			})
		})
		moved := int64(0)
		for i, c := range centroids {
			n := counts[0][i][0] + counts[1][i][0]
			for x := range c {
				if n == 0 {
					continue
				}
				after := (sums[0][i][x] + sums[1][i][x]) / n
				moved = max(moved, after-c[x], c[x]-after)
				c[x] = after
			}
		}
		if moved <= 1000 {
			break
		}
	}
	var out []byte
	for i, c := range centroids {
		out = fmt.Appendf(out, "%d\t", i)
		for x, n := range c {
			if x > 0 {
				out = append(out, ' ')
			}
			if n < 0 {
				out, n = append(out, '-'), -n
			}
			out = fmt.Appendf(out, "%d.%06d", n/1e6, n%1e6)
		}
		out = append(out, '\n')
	}
	return out
}

func straightClassification(docs []doc, side []byte) []byte {
	centroids := centroidsOf(side)
	parts := make([][2][][]byte, len(docs))
	var at [2]int
	twice(docs, func(t int, d doc) {
		clusters := make([][]byte, len(centroids))
		var p []int64
		lines(d.data, func(line []byte) {
			p = point(p[:0], line)
			i := nearest(p, centroids)
			clusters[i] = append(append(append(strconv.AppendInt(clusters[i], int64(i), 10), '\t'), line...), '\n')
		})
		parts[at[t]][t] = clusters
		at[t]++
	})
	var out []byte
	for i := range centroids {
		for _, p := range parts {
			out = append(append(out, p[0][i]...), p[1][i]...)
		}
	}
	return out
}

func straightTeraSort(docs []doc, _ []byte) []byte {
	var records [][]byte
	for _, d := range docs {
		records = slices.AppendSeq(records, slices.Chunk(d.data, 100))
	}
	order := func(a, b []byte) int { return bytes.Compare(a[:10], b[:10]) }
	half := len(records) / 2
	var both sync.WaitGroup
	both.Go(func() { slices.SortStableFunc(records[:half], order) })
	both.Go(func() { slices.SortStableFunc(records[half:], order) })
	both.Wait()
	a, b := records[:half], records[half:]
	out := make([]byte, 0, 100*len(records))
	for len(a) > 0 || len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && order(a[0], b[0]) <= 0 {
			out, a = append(out, a[0]...), a[1:]
		} else {
			out, b = append(out, b[0]...), b[1:]
		}
	}
	return out
}

func straightSelect(docs []doc, keepMap, keepReduce float64) []byte {
	var out []byte
	for stage := range 3 {
		inMap, inReduce := puma.NewKeep(2*stage, keepMap), puma.NewKeep(2*stage+1, keepReduce)
		var kept [2][]string
		twice(docs, func(t int, d doc) {
			for line := range bytes.Lines(d.data) {
				if line = bytes.TrimSuffix(line, []byte("\n")); inMap.Line(line) {
					kept[t] = append(kept[t], string(line))
				}
			}
		})
		all := append(kept[0], kept[1]...)
		sort.Strings(all)
		out = nil
		for _, s := range all {
			if inReduce.Line([]byte(s)) {
				out = append(append(out, s...), '\n')
			}
		}
		docs = []doc{{"stage", out}}
	}
	return out
}

func straightJoin(docs []doc, _ []byte) []byte {
	left := map[string][]string{}
	lines(docs[0].data, func(line []byte) {
		k, rest, _ := strings.Cut(string(line), "\t")
		left[k] = append(left[k], rest)
	})
	ms := [2]map[string][]byte{{}, {}}
	twice(docs[1:], func(t int, d doc) {
		lines(d.data, func(line []byte) {
			k, rest, _ := strings.Cut(string(line), "\t")
			out := ms[t][k]
			for _, l := range left[k] {
				out = append(append(append(append(append(append(out, k...), '\t'), l...), '\t'), rest...), '\n')
			}
			if out != nil {
				ms[t][k] = out
			}
		})
	})
	for k, v := range ms[1] {
		ms[0][k] = append(ms[0][k], v...)
	}
	var out []byte
	for _, k := range keys(ms[0]) {
		out = append(out, ms[0][k]...)
	}
	return out
}
