package run

import "bytes"

// Cuts tell to which range of keys an entry belongs, mostly by its prefix
// alone.
type Cuts struct {
	keys     [][]byte
	prefixes []uint64 // of keys, then enough of the largest for a full search tree
	levels   int
}

// NewCuts takes the ascending keys that the second range and all later ones
// begin with.
func NewCuts(keys [][]byte) Cuts {
	c := Cuts{keys: keys}
	for len(keys) >= 1<<c.levels {
		c.levels++
	}
	c.prefixes = make([]uint64, 1<<c.levels)
	for i := range c.prefixes {
		c.prefixes[i] = ^uint64(0)
		if i < len(keys) {
			c.prefixes[i] = PrefixOf(keys[i])
		}
	}
	return c
}

// Parts writes the range of each entry to parts. There must be at most 256.
//
// hot:
func (c *Cuts) Parts(parts []byte, a *Arena, entries []Entry) {
	half := len(c.prefixes) / 2
	for i := range entries {
		e := &entries[i]
		p := 0
		for step := half; step > 0; step >>= 1 { // how many prefixes are less
			if c.prefixes[p+step-1] < e.Prefix {
				p += step
			}
		}
		if p < len(c.keys) && c.prefixes[p] == e.Prefix {
			p = c.among(p, a.Key(e.Ref))
		}
		parts[i] = byte(p)
	}
}

// among is the range of a key whose prefix is that of the cut at p and maybe
// of later ones.
func (c *Cuts) among(p int, key []byte) int {
	prefix := c.prefixes[p]
	end := p + 1
	for end < len(c.keys) && c.prefixes[end] == prefix {
		end++
	}
	for p < end {
		if mid := (p + end) / 2; bytes.Compare(c.keys[mid], key) <= 0 {
			p = mid + 1
		} else {
			end = mid
		}
	}
	return p
}
