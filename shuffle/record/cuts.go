package record

import (
	"bytes"
	"slices"
	"sort"
)

// cuts finds the range of keys to which an entry belongs, mostly from its prefix alone. It
// searches among the prefixes of the cuts. If a cut has the same prefix, it searches among the
// next 8 bytes in which the cuts with that prefix differ.
type cuts struct {
	root  cutNode
	depth []int    // for each range: number of leading bytes that all its keys have in common
	head  []uint64 // for each range: the first 8 of those bytes, as a prefix
}

// cutNode searches among neighbouring cuts that agree in the bytes before depth. For cuts that
// also agree in the next 8 bytes it has a node in next, whose depth is where they begin to
// differ. So there are at most as many levels as cuts, however long their common prefix is.
type cutNode struct {
	keys     [][]byte
	depth    int
	prefixes []uint64  // distinct and ascending; filled with the largest number up to a power of two, for the search
	before   []int     // for each prefix, the number of all cuts to the left of it; at the end, of this whole node
	next     []cutNode // for each prefix of several different cuts
}

// newCuts makes the cuts for ranges. keys ascend; each one is the first key of a range, except
// for the first range, which begins with the least key.
func newCuts(keys [][]byte) *cuts {
	c := &cuts{root: newCutNode(keys, 0, 0), depth: make([]int, len(keys)+1), head: make([]uint64, len(keys)+1)}
	for p := 1; p < len(keys); p++ {
		n := CommonBytes(keys[p-1], keys[p])
		c.depth[p] = n
		c.head[p] = PrefixOf(keys[p][:n])
	}
	return c
}

// newCutNode makes a node of keys that agree in the bytes before depth. before is the number of
// cuts to the left of them.
func newCutNode(keys [][]byte, depth, before int) cutNode {
	n := cutNode{keys: keys, depth: depth}
	for i, key := range keys {
		prefix := PrefixOf(key[min(depth, len(key)):])
		if i == 0 || prefix != n.prefixes[len(n.prefixes)-1] {
			n.prefixes = append(n.prefixes, prefix)
			n.before = append(n.before, before+i)
		}
	}
	n.before = append(n.before, before+len(keys))
	n.next = make([]cutNode, len(n.prefixes))
	for i := range n.next {
		same := keys[n.before[i]-before : n.before[i+1]-before]
		least, most := same[0], same[len(same)-1]
		if common := CommonBytes(least, most); common >= depth+8 && common < len(most) {
			n.next[i] = newCutNode(same, common, n.before[i])
		}
	}
	full := 1
	for full <= len(n.prefixes) {
		full *= 2
	}
	n.prefixes = append(n.prefixes, slices.Repeat([]uint64{^uint64(0)}, full-len(n.prefixes))...)
	return n
}

// divide writes the number of the range of each entry to parts. There are at most MostParts
// ranges.
//
// hot: one search in the cuts for each record.
func (c *cuts) divide(parts []byte, a *Arena, entries []Entry) {
	n := &c.root
	prefixes, half := n.prefixes, len(n.prefixes)/2
	for i := range entries {
		e := &entries[i]
		p := 0
		for step := half; step > 0; step >>= 1 { // counts the prefixes that are less
			if prefixes[p+step-1] < e.Prefix {
				p += step
			}
		}
		part := n.before[p]
		if prefixes[p] == e.Prefix && p < len(n.next) {
			part = n.among(p, a.Key(e.Ref))
		}
		parts[i] = byte(part)
	}
}

// among returns the range of a key whose prefix equals prefixes[p] of n.
func (n *cutNode) among(p int, key []byte) int {
	for n.next[p].keys != nil {
		n = &n.next[p]
		switch c := bytes.Compare(key[:min(n.depth, len(key))], n.keys[0][:n.depth]); {
		case c < 0:
			return n.before[0]
		case c > 0:
			return n.before[len(n.next)]
		}
		prefix := PrefixOf(key[n.depth:])
		p = 0
		for step := len(n.prefixes) / 2; step > 0; step >>= 1 {
			if n.prefixes[p+step-1] < prefix {
				p += step
			}
		}
		if p == len(n.next) || n.prefixes[p] != prefix {
			return n.before[p]
		}
	}
	lo, hi := n.before[p], n.before[p+1]
	for first := n.before[0]; lo < hi; {
		if mid := (lo + hi) / 2; bytes.Compare(n.keys[mid-first], key) > 0 {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// restore sets the prefixes of entries of range part back to those of whole keys, after Deepen
// to the depth of the range. It puts the common bytes of the range in front of the prefix. c
// may be nil.
//
// hot: one iteration for each divided entry that leaves memory.
func (c *cuts) restore(part int, entries []Entry) {
	if c == nil {
		return
	}
	if depth := c.depth[part]; depth > 0 {
		head, shift := c.head[part], min(8*depth, 64)
		for i := range entries {
			entries[i].Prefix = head | entries[i].Prefix>>shift
		}
	}
}

// CutEnds returns where each of the parts ranges between cuts ends in e, whose entries are
// sorted.
func CutEnds(cuts [][]byte, parts int, a *Arena, e []Entry) []int {
	ends := make([]int, parts)
	from := 0
	for p, cut := range cuts {
		prefix := PrefixOf(cut)
		from += sort.Search(len(e)-from, func(i int) bool {
			x := e[from+i]
			return x.Prefix > prefix || x.Prefix == prefix && string(a.Key(x.Ref)) >= string(cut)
		})
		ends[p] = from
	}
	ends[parts-1] = len(e)
	return ends
}

// CutPoints chooses at most parts-1 ascending cut points from sampled keys, which it sorts.
// They divide the sample into parts of about equal size.
//
// Cut points are distinct if spread is false. With spread, a key that fills several parts is
// the cut point of all of them, and the next possible key follows it. OwnCuts divides
// such a key among several reduces. The cut points refer to the memory of keys.
func CutPoints(keys [][]byte, parts int, spread bool) (cuts [][]byte) {
	slices.SortFunc(keys, bytes.Compare)
	cuts = [][]byte{}
	for i := 1; i < parts && len(keys) > 0; i++ {
		cut, share := keys[len(keys)*i/parts], 1
		for spread && i+1 < parts && bytes.Equal(keys[len(keys)*(i+1)/parts], cut) {
			i++
			share++
		}
		if share > 1 {
			cuts = append(cuts, slices.Repeat([][]byte{cut}, share-1)...)
			cuts = append(cuts, append(bytes.Clone(cut), 0))
			continue
		}
		if len(cuts) == 0 && bytes.Compare(cut, keys[0]) <= 0 {
			continue
		}
		if len(cuts) > 0 && bytes.Compare(cut, cuts[len(cuts)-1]) <= 0 {
			continue
		}
		cuts = append(cuts, cut)
	}
	return cuts
}

// OwnCuts returns the cut points by which map m of maps divides its records. Equal cut points
// bound several parts that all belong to one frequent key. OwnCuts changes them, so that each map
// sends the key to one of these parts: the first maps to the first part, and so on. The records
// of the key are still in the order of the maps. The result shares memory with cuts, and must
// not be changed.
//
//	cuts         k     k     k    k\0
//	map 0 of 2   k    k\0   k\0   k\0
//	map 1 of 2   k     k    k\0   k\0
func OwnCuts(cuts [][]byte, m, maps int) [][]byte {
	own := cuts
	for i, end := 0, 0; i < len(cuts); i = end {
		for end = i + 1; end < len(cuts) && bytes.Equal(cuts[end], cuts[i]); end++ {
		}
		if end-i < 2 || end == len(cuts) || !isNext(cuts[end], cuts[i]) {
			continue
		}
		// All maps share cuts, so it is copied before the first change.
		if &own[0] == &cuts[0] {
			own = slices.Clone(cuts)
		}
		for at := i + 1 + m*(end-i)/maps; at < end; at++ {
			own[at] = cuts[end]
		}
	}
	return own
}

// isNext reports whether a is the next possible key after b: b and a zero byte.
func isNext(a, b []byte) bool { return len(a) == len(b)+1 && a[len(b)] == 0 && bytes.HasPrefix(a, b) }

// PadCuts repeats the last cut point until there are cut points for the number of parts that the
// user asks for. The parts between equal cut points are empty.
func PadCuts(cuts [][]byte, parts int) [][]byte {
	last := []byte{}
	if len(cuts) > 0 {
		last = cuts[len(cuts)-1]
	}
	return append(cuts, slices.Repeat([][]byte{last}, max(0, parts-1-len(cuts)))...)
}
