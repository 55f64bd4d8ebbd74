package record

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// With any sample, parts are ranges of (key, map). What one map puts into a part is not
// greater than what a later map puts into a later part. No key is in two parts, except
// keys that were spread.
func TestCutsOfMapsKeepTheOrderOfKeysAndMaps(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		alphabet := []string{"", "a", "a\x00", "a\x00\x00", "ab", "b", "b\x00", "c"}
		var sample [][]byte
		for range 1 + r.IntN(40) {
			sample = append(sample, []byte(alphabet[r.IntN(1+r.IntN(len(alphabet)))]))
		}
		maps := 1 + r.IntN(5)
		cuts := CutPoints(sample, 2+r.IntN(12), true)
		if !slices.IsSortedFunc(cuts, bytes.Compare) {
			t.Fatalf("seed %d: cuts %q", seed, cuts)
		}
		last, lastKey := 0, "none yet"
		for _, key := range alphabet {
			for m := range maps {
				own := OwnCuts(cuts, m, maps)
				if !slices.IsSortedFunc(own, bytes.Compare) || len(own) != len(cuts) {
					t.Fatalf("seed %d: cuts %q, of map %d of %d %q", seed, cuts, m, maps, own)
				}
				p := 0
				for p < len(own) && key >= string(own[p]) {
					p++
				}
				what := fmt.Sprintf("seed %d: cuts %q, key %q, map %d of %d", seed, cuts, key, m, maps)
				if p < last {
					t.Fatalf("%s: part %d after part %d", what, p, last)
				}
				if p > last && key == lastKey && !bytes.Equal(cuts[last], []byte(key)) {
					t.Fatalf("%s: parts %d and %d, and the key is not spread", what, last, p)
				}
				last, lastKey = p, key
			}
		}
	}
}

func TestAKeyOfAllPartsIsSpreadOverThem(t *testing.T) {
	cuts := CutPoints(slices.Repeat([][]byte{[]byte("k")}, 100), 5, true)
	parts := map[int]bool{}
	for m := range 3 {
		p := 0
		for _, cut := range OwnCuts(cuts, m, 3) {
			if string(cut) <= "k" {
				p++
			}
		}
		parts[p] = true
	}
	if len(parts) != 3 {
		t.Errorf("parts %v of 3 maps", parts)
	}
	if distinct := [][]byte{[]byte("a"), []byte("b")}; &OwnCuts(distinct, 0, 3)[0] != &distinct[0] {
		t.Error("cuts without a spread key were copied")
	}
}
