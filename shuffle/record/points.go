package record

import (
	"bytes"
	"slices"
)

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
