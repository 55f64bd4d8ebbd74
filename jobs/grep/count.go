package grep

import (
	"bytes"
	"fmt"
	"strconv"

	"mrlocal/jobs"
)

// countJobs returns the two jobs of Hadoop's grep example: the first counts
// each match, the second sorts the counts. Unlike Hadoop's, it does not count
// empty matches.
func countJobs(p *program, skipBinary bool) jobs.Chain {
	return jobs.Chain{{
		Name:       "grep-search",
		NewMapper:  func() jobs.Mapper { return newMatchMapper(p) },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return jobs.NewSum() },
		SkipBinary: skipBinary,
		BuiltIn:    true,
	}, {
		Name:       "grep-sort",
		Ordered:    true,
		NewMapper:  func() jobs.Mapper { return &rankMapper{} },
		NewReducer: func() jobs.Reducer { return &rankReducer{} },
		BuiltIn:    true,
	}}
}

// matchMapper emits each match with a count.
type matchMapper struct {
	search *search
	walker walker
	// The room of the value that emit lends; it saves an allocation for each match.
	count [8]byte
	only  []byte // the text of all matches, if there is only one
}

func newMatchMapper(p *program) *matchMapper {
	m := &matchMapper{search: newSearch(p)}
	if p.exact && len(p.literals) == 1 && !p.literals[0].fold {
		m.only = []byte(p.literals[0].text)
	}
	return m
}

// Begin charges the memory of the search to the attempt.
func (m *matchMapper) Begin(a jobs.OwnAttempt) { m.search.account(a) }

// Map implements jobs.Mapper. Matches that are emitted lie in the block.
func (m *matchMapper) Map(b jobs.Block, out jobs.Emitter) error {
	if len(b.Data) == 0 {
		return nil
	}
	m.search.begin(b.Data)
	m.search.tune()
	// Literals are only candidates: the lineMatcher decides line by line.
	if !m.search.sure {
		m.byLine(b.Data, out)
		return nil
	}
	m.walker.reset(m.search, b.Data)
	if m.only != nil {
		m.same(out)
	} else {
		m.emit(b.Data, out)
	}
	return nil
}

// Flush ends the search and gives its lineMatcher back.
func (m *matchMapper) Flush(jobs.Emitter) error {
	m.search.end()
	return nil
}

// byLine emits the matches of lines that hold a literal.
func (m *matchMapper) byLine(data []byte, out jobs.Emitter) {
	for start, end, _ := m.search.candidate(); start != none; start, end, _ = m.search.candidate() {
		m.walker.reset(m.search, data[start:end])
		m.emit(data[start:end], out)
	}
}

// emit emits the matches that the walker finds in text.
func (m *matchMapper) emit(text []byte, out jobs.Emitter) {
	// Emit borrows the value until it returns, so that all matches share one.
	value := jobs.AppendUint64(m.count[:0], 1)
	for start, end := m.walker.next(); start != none; start, end = m.walker.next() {
		out.Emit(text[start:end], value)
	}
}

// same counts matches that all have the same text, and emits the text once.
func (m *matchMapper) same(out jobs.Emitter) {
	n := uint64(0)
	for start, _ := m.walker.next(); start != none; start, _ = m.walker.next() {
		n++
	}
	if n > 0 {
		out.Emit(m.only, jobs.AppendUint64(m.count[:0], n))
	}
}

// rankMapper turns "match TAB count" into keys that sort by falling count, then
// by match.
type rankMapper struct{ key []byte }

// Map implements jobs.Mapper. A match may hold tabs; the count stands behind the last one.
func (m *rankMapper) Map(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		tab := bytes.LastIndexByte(line, '\t')
		count, err := strconv.ParseUint(string(line[tab+1:]), 10, 64)
		if tab < 0 || err != nil {
			return fmt.Errorf("grep-sort: %s at %d: %q is not a match with its count", b.Path, b.Offset, line)
		}
		// Eight bytes that sort by falling count. Reduce cuts them off again.
		m.key = append(jobs.AppendDescending(m.key[:0], count), line[:tab]...)
		out.Emit(m.key, nil)
	}
	return nil
}

// rankReducer writes "count TAB match".
type rankReducer struct{ text [20]byte }

// Reduce implements jobs.Reducer. Keys are in order already; there are no values.
func (r *rankReducer) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	out.Emit(strconv.AppendUint(r.text[:0], jobs.Descending(key), 10), key[8:])
	return nil
}
