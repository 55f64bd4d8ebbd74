// Package words finds any of many fixed strings in text: a dozen, or a million. Package dfa could do
// so, but its states grow with the number of words.
//
// A search looks at four bytes of each place of the text. A filter of bits says whether a word may
// have these bytes (matcher.go). At a place that passes, the dictionary is looked up: a hash table has
// the range of sorted words that begin with the same bytes, and a binary search in the range finds
// the longest word. Each word names the longest other word with which it begins. So all words of a
// place are known after one search.
//
// If words must be whole lines, a hash table of lines is enough (matcher.go). If case is ignored, words
// and text are folded first (matcher.go).
//
// Memory: a Dictionary is never changed after New, so Matchers in several goroutines share it. It
// holds the bytes of the words and some 30 bytes for each word. Bytes is that size. A Matcher has
// room for up to 64 KiB of folded text, or for twice the longest line.
package words

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"

	"mrlocal/internal/scan"
)

// None is returned as an offset if there is no match. It is larger than any offset.
const None = math.MaxInt

// Options say what a match is. The zero value searches for the bytes of the words anywhere.
type Options struct {
	Border scan.Border
	Fold   bool // ignore case, as Unicode's simple folding does
	// Longest prefers the longest of several words at one place. Otherwise the first one in the list
	// is preferred.
	Longest bool
}

// Dictionary is a set of words. Words have numbers in the order of their bytes.
type Dictionary struct {
	options Options
	text    []byte   // all words, one behind the other
	starts  []uint32 // offset in text of each word, and at last the length of text
	parent  []int32  // for each word, the longest other word with which it begins; -1: none
	rank    []uint32 // for each word, its place in the list; nil: Options.Longest
	empty   int32    // number of the empty word; -1: there is none
	longest int      // length of the longest word in bytes

	long   table // ranges of words of at least gramBytes bytes, by their first prefix bytes
	prefix int   // at least gramBytes, at most 8
	short  table // words with fewer bytes, each by itself
	filter filter

	mostShort int // length of the longest of them

	lines []uint32 // WholeLine: numbers of words plus 1, by their hashes
	sizes uint64   // WholeLine: bit i: there is a word of i bytes; bit 63: or of more
}

// mostBytes is the largest length of all words together.
const mostBytes = math.MaxUint32

// NewDictionary makes a Dictionary of words, which may have empty ones and equal ones. A word with a newline
// never matches. New returns nil if the words have more than 4 GiB.
func NewDictionary(list []string, o Options) *Dictionary {
	d := &Dictionary{options: o, empty: -1}
	var f folder
	total := 0
	entries := make([]entry, 0, len(list))
	for i, w := range list {
		if o.Fold {
			w = string(f.fold(nil, []byte(w)))
		}
		if strings.IndexByte(w, '\n') < 0 {
			entries = append(entries, entry{head(w), w, uint32(i)})
			total += len(w)
		}
	}
	if total > mostBytes {
		return nil
	}
	if o.Border == scan.WholeLine {
		d.store(entries, total)
		d.hashLines()
		return d
	}
	slices.SortFunc(entries, compare)
	entries = slices.CompactFunc(entries, func(a, b entry) bool { return a.word == b.word })
	d.store(entries, total)
	d.findParents()
	d.index()
	if !o.Longest {
		d.rank = make([]uint32, len(entries))
		for k, e := range entries {
			d.rank[k] = e.rank
		}
	}
	return d
}

// entry is a word while the dictionary is made.
type entry struct {
	head uint64 // the first eight bytes, so that few comparisons read the word
	word string
	rank uint32
}

// head returns the first eight bytes of w, in an order that sorts as w does. A shorter word is
// followed by zeros.
func head(w string) uint64 {
	var b [8]byte
	copy(b[:], w)
	return binary.BigEndian.Uint64(b[:])
}

// compare orders entries by word. Of equal words, the first one of the list comes first.
func compare(a, b entry) int {
	if a.head != b.head {
		return cmp.Compare(a.head, b.head)
	}
	return cmp.Or(cmp.Compare(a.word, b.word), cmp.Compare(a.rank, b.rank))
}

// store copies the words.
func (d *Dictionary) store(entries []entry, total int) {
	d.text, d.starts = make([]byte, 0, total), make([]uint32, 1, len(entries)+1)
	for _, e := range entries {
		d.text = append(d.text, e.word...)
		d.starts = append(d.starts, uint32(len(d.text)))
		d.longest = max(d.longest, len(e.word))
	}
}

// word returns word k.
func (d *Dictionary) word(k int) []byte { return d.text[d.starts[k]:d.starts[k+1]] }

// length returns the length of word k.
func (d *Dictionary) length(k int32) int { return int(d.starts[k+1] - d.starts[k]) }

// count returns the number of words.
func (d *Dictionary) count() int { return len(d.starts) - 1 }

// Bytes returns the memory of the dictionary.
func (d *Dictionary) Bytes() int64 {
	n := len(d.text) + 4*(len(d.starts)+len(d.parent)+len(d.rank)+len(d.lines))
	return int64(n + slotBytes*(len(d.long.slots)+len(d.short.slots)) + len(d.filter.grams))
}

// findParents sets parent and empty. The words are in order, so the words with which a word begins
// stand before it, and behind them only words that begin with them too.
func (d *Dictionary) findParents() {
	d.parent = make([]int32, d.count())
	last := int32(-1)
	for k := range d.parent {
		w := d.word(k)
		for last >= 0 && common(d.word(int(last)), w) < d.length(last) {
			last = d.parent[last]
		}
		d.parent[k] = last
		last = int32(k)
	}
	if d.count() > 0 && d.length(0) == 0 {
		d.empty = 0
	}
}

// index makes the tables and the filter.
func (d *Dictionary) index() {
	d.prefix = 8
	n := 0
	for k := range d.parent {
		if l := d.length(int32(k)); l >= gramBytes {
			d.prefix = min(d.prefix, l)
			n++
		}
	}
	d.long, d.short = newTable(n), newTable(d.count()-n)
	for k := 0; k < d.count(); k++ {
		w := d.word(k)
		if len(w) < gramBytes {
			d.short.put(shortKey(w), k, k+1)
			d.mostShort = max(d.mostShort, len(w))
			continue
		}
		// The words with the same prefix are neighbours.
		key, first := longKey(w, d.prefix), k
		for k+1 < d.count() && d.length(int32(k+1)) >= d.prefix && longKey(d.word(k+1), d.prefix) == key {
			k++
		}
		d.long.put(key, first, k+1)
	}
	d.fill(n)
}

// at returns the longest word with which t begins; -1: there is none.
func (d *Dictionary) at(t []byte) int32 {
	if len(t) >= d.prefix && d.filter.passes(t) {
		if lo, hi, ok := d.long.get(longKey(t, d.prefix)); ok {
			k, same := d.last(lo, hi, t)
			for k >= lo && d.length(int32(k)) > same {
				k = int(d.parent[k])
			}
			if k >= lo {
				return int32(k)
			}
		}
	}
	if !d.filter.passesShort(t) {
		return d.empty
	}
	for n := min(d.mostShort, len(t)); n > 0; n-- {
		if k, _, ok := d.short.get(shortKey(t[:n])); ok {
			return int32(k)
		}
	}
	return d.empty
}

// last returns the last word of lo:hi that is not greater than t; lo-1: there is none. same is the
// number of bytes in which it agrees with t. All words of the range begin with the prefix of t.
func (d *Dictionary) last(lo, hi int, t []byte) (k, same int) {
	// The words before lo agree with t in below bytes or fewer, those from hi on in above bytes.
	below, above := d.prefix, d.prefix
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		w := d.word(mid)
		n := min(below, above)
		n += common(w[n:], t[n:])
		if n == len(w) || n < len(t) && w[n] < t[n] {
			lo, below = mid+1, n
		} else {
			hi, above = mid, n
		}
	}
	return lo - 1, below
}

// common returns the number of bytes with which both a and b begin.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// table is a hash table from keys to ranges of words, with linear probing.
type table struct {
	slots []slot
	shift uint8
}

// slot is a place of a table. It is free if high is 0.
type slot struct {
	key       uint64
	low, high uint32
}

const slotBytes = 16

// newTable makes a table for up to n keys.
func newTable(n int) table {
	size := bits.Len(uint(2 * n))
	return table{slots: make([]slot, 1<<size), shift: uint8(64 - size)}
}

// place returns the place at which the search for key begins.
func (t *table) place(key uint64) int {
	return int(key * 0x9e3779b97f4a7c15 >> t.shift)
}

// put adds a range for a key that the table does not have.
func (t *table) put(key uint64, low, high int) {
	i := t.place(key)
	for t.slots[i].high != 0 {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i] = slot{key, uint32(low), uint32(high)}
}

// get returns the range for a key.
func (t *table) get(key uint64) (low, high int, ok bool) {
	for i := t.place(key); t.slots[i].high != 0; i = (i + 1) & (len(t.slots) - 1) {
		if s := &t.slots[i]; s.key == key {
			return int(s.low), int(s.high), true
		}
	}
	return 0, 0, false
}

// longKey returns the first n bytes of t, which are at least gramBytes and at most 8.
func longKey(t []byte, n int) uint64 {
	if len(t) >= 8 {
		return binary.LittleEndian.Uint64(t) & (^uint64(0) >> (64 - 8*n))
	}
	var b [8]byte
	copy(b[:n], t)
	return binary.LittleEndian.Uint64(b[:])
}

// shortKey returns a key for a whole word of fewer than gramBytes bytes.
func shortKey(w []byte) uint64 {
	key := uint64(len(w)) << 24
	for i, c := range w {
		key |= uint64(c) << (8 * i)
	}
	return key
}
