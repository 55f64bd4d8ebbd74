package streaming

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// keys returns the bytes of a key that a specification means.
func keys(t *testing.T, options, separator, key string) string {
	s, err := Parse(options, separator)
	if err != nil {
		t.Fatal(err)
	}
	lengths, all := s.lengths(nil, []byte(key)), []string{}
	for i := range s.list {
		if begin, end, ok := s.span([]byte(key), lengths, &s.list[i]); !ok {
			all = append(all, "none")
		} else {
			all = append(all, fmt.Sprintf("%q", key[begin:max(begin, end)]))
		}
	}
	return strings.Join(all, " ")
}

func TestSpecificationsCutKeysAsHadoopDoes(t *testing.T) {
	for _, c := range []struct{ options, separator, key, want string }{
		{"-k1,1", "\t", "a\tb\tc", `"a"`},
		{"-k2,3", "\t", "a\tb\tc", `"b\tc"`},
		{"-k2", "\t", "a\tb\tc", `"b\tc"`},
		{"-k 2", "\t", "a\tb", `"b"`},
		{"-k1.2,1.3", ".", "abcd.e", `"bc"`},
		{"-k2.2,3.1", ".", "ab.cd.ef", `"d.e"`},
		{"-k4,4", "\t", "a\tb\tc", "none"},
		{"-k1,9", "\t", "a\tb", `"a\tb"`},
		{"-k2,1", "\t", "a\tb", `""`},
		{"-n", "\t", "a\tb", `"a\tb"`},
		{"-k1,1 -k3,3nr", ",", "a,b,c", `"a" "c"`},
	} {
		if got := keys(t, c.options, c.separator, c.key); got != c.want {
			t.Errorf("%s of %q by %q: %s, want %s", c.options, c.key, c.separator, got, c.want)
		}
	}
	for _, wrong := range []string{"-kx", "-k1x", "-k1,", "-k1.2.3", "-k1,2q"} {
		if _, err := Parse(wrong, "\t"); err == nil {
			t.Errorf("%s was accepted", wrong)
		}
	}
}

func TestHashesAreThoseOfJava(t *testing.T) {
	// Text("a").hashCode() is 31*1+97; a byte above 127 counts as negative.
	for key, want := range map[string]int32{"": 1, "a": 128, "ab": 31*128 + 98, "\xff": 30, "\xc3\xa4": 31*(31-61) - 92} {
		if got := hashBytes(1, []byte(key)); got != want {
			t.Errorf("%q: %d, want %d", key, got, want)
		}
	}
	for text, want := range map[string]int32{"": 0, "hello": 99162322, "ä": 228, "😀": 31*0xd83d + 0xde00} {
		if got := hashString([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if hashLong(1<<32|5) != 4 || hashLong(-1) != 0 {
		t.Error("hash of a long")
	}
}

func TestInvalidBytesAreReplacedInMaximalParts(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "ä😀": "ä😀", "\xff": "\ufffd", "a\xc3": "a\ufffd", "\xe2\x82x": "\ufffdx", "\xe2\x82\xe2\x82\xac": "\ufffd€",
		"\xed\xa0\x80": "\ufffd", "\xed\xbf\xbf\xed\xa0": "\ufffd\ufffd", "\xed\xa0a": "\ufffda", "\xed\xed": "\ufffd\ufffd", "\xed\x9f\xbf": "\ud7ff", "\xe0\x80\x80": "\ufffd\ufffd\ufffd",
		"\xf0\x9f\x98": "\ufffd", "\xc0\x80": "\ufffd\ufffd", "\xf5a": "\ufffda",
	} {
		if got := string(ReplaceInvalid([]byte(text))); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.Byte()).Draw(t, "text")
		got := ReplaceInvalid(text)
		if !utf8.Valid(got) {
			t.Fatalf("%q is not valid", got)
		}
		if utf8.Valid(text) && !bytes.Equal(got, text) {
			t.Fatalf("%q was changed to %q", text, got)
		}
	})
}

func TestEachPartitionIsAReduce(t *testing.T) {
	s, _ := Parse("-k1,2 -k3.2", ".")
	rapid.Check(t, func(t *rapid.T) {
		key, parts := rapid.SliceOf(rapid.Byte()).Draw(t, "key"), rapid.IntRange(1, 50).Draw(t, "parts")
		all := []int{Text.Partition(key, parts), ByFields(&s, key, parts), Long.Partition(AppendLong(nil, int64(len(key))<<33), parts)}
		if p, ok := BySlice(key, rapid.IntRange(-9, 9).Draw(t, "left"), rapid.IntRange(-9, 9).Draw(t, "right"), parts); ok {
			all = append(all, p)
		}
		for _, p := range all {
			if p < 0 || p >= parts {
				t.Fatalf("%v of %d", all, parts)
			}
		}
	})
}

func TestOrdersComeAsTheComparatorSays(t *testing.T) {
	for _, c := range []struct {
		options string
		sorted  []string // in the order of the comparator; "=" joins equal keys
	}{
		{"-n", []string{"-10", "-9.5", "-9", "-0.5", "0=-0", "0.25", "0.5=.5", "1.5", "2", "10", "100"}},
		{"-nr", []string{"100", "10", "2", "0", "-1", "-20"}},
		{"-k2,2", []string{"x", "z\ta", "y\tb", "x\tba"}},
		{"-k2,2r", []string{"x\tba", "y\tb", "z\ta", "x"}},
		{"-k2,2n -k1,1", []string{"z\t1", "a\t2", "b\t2=b\t2", "a\t10"}},
		{"", []string{"", "\x00", "a", "a\x00", "ab", "\xff"}},
		{"-k1", []string{"\x00", "a", "a\x00", "ab", "\xff"}},
	} {
		s, err := Parse(c.options, "\t")
		if err != nil {
			t.Fatal(err)
		}
		o, last := Order{s}, []byte(nil)
		for i, group := range c.sorted {
			var enc []byte
			for j, key := range strings.Split(group, "=") {
				e := o.Append(nil, []byte(key))
				if j > 0 && !bytes.Equal(e, enc) {
					t.Errorf("%s: %q is not equal to its neighbour", c.options, key)
				}
				enc = e
			}
			if i > 0 && bytes.Compare(last, enc) >= 0 {
				t.Errorf("%s: %q does not come behind %q", c.options, group, c.sorted[i-1])
			}
			last = enc
		}
	}
}

func TestWholeNumbersSortByValue(t *testing.T) {
	s, _ := Parse("-n", "\t")
	o := Order{s}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.IntRange(-100000, 100000), 2, 20).Draw(t, "numbers")
		encoded := map[string]int{}
		var all []string
		for _, n := range list {
			e := string(o.Append(nil, fmt.Append(nil, n)))
			encoded[e] = n
			all = append(all, e)
		}
		slices.Sort(all)
		if !slices.IsSortedFunc(all, func(a, b string) int { return cmp.Compare(encoded[a], encoded[b]) }) {
			t.Fatalf("%v", list)
		}
	})
}
