package puma

import (
	"cmp"

	"mrlocal/internal/errs"
	"mrlocal/internal/stats"
	"mrlocal/jobs"
)

// This file has a job without input that writes random text (Hadoop's example
// RandomTextWriter). A record is "words TAB words", with 5 to 10 words in the key and 20 to 100 in
// the value. The words are drawn from 1,000. The text of a map depends only on the seed and on the
// number of the map.
//
// Memory: the words, once for each attempt, and a record.

// RandomTextOptions say how much text there is. The zero value works.
type RandomTextOptions struct {
	Bytes int64  // least length of the text of all maps together; 0: 64 MiB
	Maps  int    // number of map tasks; 0: one for each 8 MiB
	Seed  uint64 // 0 means 1
}

// Numbers of words, as in Hadoop.
const (
	words     = 1000 // different words
	leastKey  = 5
	mostKey   = 10
	leastRest = 20
	mostRest  = 100
)

// NewRandomText makes the job. It fails with an options error (package errs) if an option is out of
// range.
func NewRandomText(o RandomTextOptions) (jobs.Chain, error) {
	o.Bytes, o.Seed = cmp.Or(o.Bytes, 64<<20), max(o.Seed, 1)
	switch {
	case o.Bytes < 0:
		return nil, errs.Fieldf("Options.Bytes", "%d: must not be negative", o.Bytes)
	case o.Maps < 0 || o.Maps > 1<<20:
		return nil, errs.Fieldf("Options.Maps", "%d: must be from 1 to 1048576", o.Maps)
	}
	o.Maps = int(cmp.Or(int64(o.Maps), min(max(o.Bytes>>23, 1), 1<<20)))
	return jobs.Chain{{
		Name: "randomtext", NoInput: true, Maps: o.Maps, BuiltIn: true,
		NewMapper: func() jobs.Mapper { return &randomTextMapper{o: o} },
	}}, nil
}

// randomTextMapper writes the text of one task.
type randomTextMapper struct {
	o       RandomTextOptions
	attempt jobs.OwnAttempt
	random  uint64 // state of below
	words   []string
}

// Begin implements jobs.Attempter.
func (m *randomTextMapper) Begin(a jobs.OwnAttempt) { m.attempt = a }

// Map writes the text of a task: an equal share of Options.Bytes. The first tasks write one
// byte more if the shares are not whole.
func (m *randomTextMapper) Map(_ jobs.Block, out jobs.Emitter) error {
	m.random = 42
	for range words { // all seeds use the same words
		m.words = append(m.words, m.invent())
	}
	m.random = m.o.Seed*0xd1342543de82ef95 + uint64(m.attempt.Task)*0xa0761d6478bd642f
	want := m.o.Bytes / int64(m.o.Maps)
	if int64(m.attempt.Task) < m.o.Bytes%int64(m.o.Maps) {
		want++
	}
	var key, value []byte
	for written, n := int64(0), 0; written < want; n++ {
		key = m.sentence(key[:0], leastKey+m.below(mostKey-leastKey+1))
		value = m.sentence(value[:0], leastRest+m.below(mostRest-leastRest+1))
		out.Emit(key, value)
		written += int64(len(key) + len(value) + 2)
		if n%1024 == 0 {
			if err := m.attempt.Context.Err(); err != nil {
				return err
			}
			m.attempt.Progress(written, want)
		}
	}
	return nil
}

// sentence appends n words to dst.
func (m *randomTextMapper) sentence(dst []byte, n int) []byte {
	for i := range n {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, m.words[m.below(words)]...)
	}
	return dst
}

// invent returns a word of 2 to 5 syllables.
func (m *randomTextMapper) invent() string {
	var w []byte
	for range 2 + m.below(4) {
		w = append(w, "bcdfghklmnprstvz"[m.below(16)], "aeiou"[m.below(5)])
	}
	return string(w)
}

// below returns a random number below n, by SplitMix64.
func (m *randomTextMapper) below(n int) int {
	bits := stats.Bits(m.random)
	m.random += 0x9e3779b97f4a7c15
	return int(bits >> 33 % uint64(n))
}
