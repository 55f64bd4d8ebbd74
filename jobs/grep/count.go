package grep

import (
	"strconv"

	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// countJobs returns the two jobs of Hadoop's grep example. The first one counts each match, and
// the second one sorts the counts. Unlike Hadoop's example, they do not count empty matches.
func countJobs(p *program, skipBinary bool) jobs.Chain {
	return jobs.Chain{{
		Name:       "grep-search",
		NewMapper:  func() jobs.Mapper { return newMatchMapper(p) },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return jobs.NewSum() },
		SkipBinary: skipBinary,
		BuiltIn:    true,
	}, lines.TopJob("grep-sort", jobs.Newline, lines.Kept{}, func() lines.CountFormat { return ranking{} })}
}

// matchMapper emits each match with the count 1.
type matchMapper struct {
	search *search
	walker walker
	// The value that emit passes to Emit; a field saves an allocation for each match.
	count [8]byte
	err   error  // the strings to search for do not fit in memory
	only  []byte // the text of all matches, if they are all the same; otherwise nil
}

func newMatchMapper(p *program) *matchMapper {
	m := &matchMapper{search: newSearch(p)}
	if p.exact && len(p.literals) == 1 && !p.literals[0].Fold {
		m.only = []byte(p.literals[0].Text)
	}
	return m
}

// Begin charges the memory of the search to the attempt.
func (m *matchMapper) Begin(a jobs.OwnAttempt) {
	m.err = m.search.charge(a)
	m.search.account(a)
}

// Map implements jobs.Mapper. The keys that it emits lie in the block.
func (m *matchMapper) Map(b jobs.Block, out jobs.Emitter) error {
	if len(b.Data) == 0 || m.err != nil {
		return m.err
	}
	m.search.begin(b.Data)
	m.search.tune()
	// If literals only mark candidates, the lineMatcher decides line by line.
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

// Flush ends the search and returns its lineMatcher to the pool.
func (m *matchMapper) Flush(jobs.Emitter) error {
	m.search.end()
	return nil
}

// byLine emits the matches of lines that contain a literal.
func (m *matchMapper) byLine(data []byte, out jobs.Emitter) {
	for start, end, _ := m.search.candidate(); start != none; start, end, _ = m.search.candidate() {
		m.walker.reset(m.search, data[start:end])
		m.emit(data[start:end], out)
	}
}

// emit emits the matches that the walker finds in text.
func (m *matchMapper) emit(text []byte, out jobs.Emitter) {
	// Emit borrows the value only until it returns, so all matches share it.
	value := jobs.AppendUint64(m.count[:0], 1)
	for start, end := m.walker.next(); start != none; start, end = m.walker.next() {
		out.Emit(text[start:end], value)
	}
}

// same counts matches that all have the same text, and emits the text once with their number.
func (m *matchMapper) same(out jobs.Emitter) {
	n := uint64(0)
	for start, _ := m.walker.next(); start != none; start, _ = m.walker.next() {
		n++
	}
	if n > 0 {
		out.Emit(m.only, jobs.AppendUint64(m.count[:0], n))
	}
}

// ranking reads the result of the first job, "match TAB count", and writes "count TAB match". A match may
// contain tabs; the count stands behind the last one.
type ranking struct{ lines.KeyCount }

// Append implements lines.CountFormat.
func (ranking) Append(dst, match []byte, count uint64) []byte {
	return append(append(strconv.AppendUint(dst, count, 10), '\t'), match...)
}
