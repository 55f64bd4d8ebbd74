package streaming

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sorted sorts records KEY:NUMBER from the last to the first.
func sorted(keys string) string {
	var all []heldRecord
	for i := len(keys) - 1; i >= 0; i-- {
		all = append(all, heldRecord{sortKey: []byte{keys[i]}, value: fmt.Append(nil, i)})
	}
	quicksort(all, 0, len(all))
	var b strings.Builder
	for _, h := range all {
		fmt.Fprintf(&b, "%s%s ", h.sortKey, h.value)
	}
	return strings.TrimSpace(b.String())
}

// The orders were seen in Hadoop 3.4.2: a mapper cat over lines KEY<TAB>NUMBER, a reducer
// cat.
func TestEqualKeysComeAsHadoopHappensToGiveThem(t *testing.T) {
	for keys, want := range map[string]string{
		"kkkjj":                 "j4 j3 k2 k1 k0",
		strings.Repeat("k", 15): "k14 k13 k12 k11 k10 k9 k8 k7 k6 k5 k4 k3 k2 k1 k0",
	} {
		if got := sorted(keys); got != want {
			t.Errorf("%s: %s, want %s", keys, got, want)
		}
	}
}

func TestTheQuicksortSortsAndLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.IntRange('a', 'f'), 0, 200).Draw(t, "keys")
		text := make([]byte, len(keys))
		for i, k := range keys {
			text[i] = byte(k)
		}
		words := strings.Fields(sorted(string(text)))
		seen := map[string]bool{}
		for i, w := range words {
			seen[w] = true
			if i > 0 && words[i-1][0] > w[0] {
				t.Fatalf("%v", words)
			}
		}
		if len(seen) != len(keys) {
			t.Fatalf("%d of %d records", len(seen), len(keys))
		}
	})
}

// Numbers of records follow a sort key. They must not decide between different keys.
func TestNoSortKeyIsTheStartOfAnother(t *testing.T) {
	const comparator = "mapreduce.job.output.key.comparator.class=org.apache.hadoop.mapred.lib.KeyFieldBasedComparator"
	for _, args := range [][]string{
		{},
		{"-D", comparator},
		{"-D", comparator, "-D", "mapreduce.partition.keycomparator.options="},
		{"-D", comparator, "-D", "mapreduce.partition.keycomparator.options=-r"},
		{"-D", comparator, "-D", "mapreduce.partition.keycomparator.options=-k1,1 -k2,2"},
	} {
		w := newWork(t, Options{}, args...)
		for _, key := range []string{"", "a", "ab", "a\tb"} {
			for _, longer := range []string{"\x00", "\xff", "\tc", "b"} {
				a, b := w.sortKey(nil, []byte(key)), w.sortKey(nil, []byte(key+longer))
				if bytes.HasPrefix(b, a) && !bytes.Equal(a, b) { // the comparator may take keys for equal
					t.Errorf("%v: the sort key of %q begins with that of %q", args, key+longer, key)
				}
			}
		}
	}
}
