package dfa

import (
	"encoding/binary"
	"iter"
	"math"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"

	"mrlocal/internal/scan"
)

// program is a syntax.Prog without captures. Its instructions refer to sets of runes. It has
// the classes of runes that no set distinguishes.
type program struct {
	insts   []inst
	entry   uint32
	classes *classes
	firsts  *firsts
	words   bool // an assertion depends on word characters
	several bool // a text may have several lines

	// For the automaton over bytes: the class of each byte, and one byte of each class.
	class [256]uint8
	some  []byte

	// restarts is false if a match can only begin at the start of the text.
	restarts bool
	// implied says for each instruction whether every restart adds its thread.
	implied []bool
}

// inst is an instruction. out is the next instruction; of an alternative, arg is the less
// preferred one.
type inst struct {
	op       op
	empty    syntax.EmptyOp // of opEmpty: the assertions that must hold
	set      int            // of opRune: the number of a set of runes
	out, arg uint32
	choices  []uint32 // of an opRune that stands for several: these, and later the next instruction of each class
}

// op is the kind of an instruction. Captures and empty steps of regexp/syntax are removed.
type op uint8

const (
	opFail op = iota
	opAlt
	opEmpty
	opRune
	opMatch
)

// noWordBefore and noWordAfter are assertions for borders, which regexp/syntax does not have.
const (
	noWordBefore syntax.EmptyOp = 1 << 6
	noWordAfter  syntax.EmptyOp = 1 << 7

	lookingAhead = syntax.EmptyEndLine | syntax.EmptyEndText | syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary | noWordAfter
	aboutWords   = syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary | noWordBefore | noWordAfter
)

// WordStart and WordEnd are the Cap of a capture around a \b that holds only at the start or the end of a word. Package
// syntax has no form for that.
const WordStart, WordEnd = -1, -2

// wordEdge returns the assertion that stands before the \b of such a capture; 0: the instruction does nothing.
func wordEdge(in *syntax.Inst) syntax.EmptyOp {
	switch start, end := WordStart, WordEnd; {
	case in.Op == syntax.InstCapture && in.Arg == uint32(2*start):
		return noWordBefore
	case in.Op == syntax.InstCapture && in.Arg == uint32(2*end):
		return noWordAfter
	}
	return 0
}

// compile translates a tree. several says that a text may have several lines. It returns nil if the pattern
// distinguishes too many classes of runes.
func compile(tree *syntax.Regexp, b scan.Border, several bool) *program {
	// Package regexp compiles the same program, so both prefer the same alternatives.
	from, err := syntax.Compile(tree)
	if err != nil {
		return nil
	}
	p := &program{several: several, insts: make([]inst, len(from.Inst), len(from.Inst)+2)}
	var sets runeSets
	for pc := range from.Inst {
		p.insts[pc] = translate(from, uint32(pc), &sets)
		p.words = p.words || p.insts[pc].op == opEmpty && p.insts[pc].empty&aboutWords != 0
	}
	// Instructions keep their numbers. Instructions that do nothing are skipped and never
	// reached.
	p.entry = follow(from, uint32(from.Start))
	switch b {
	case scan.WordEnds:
		p.words = true
		p.surround(noWordBefore, noWordAfter)
	case scan.WholeLine:
		p.surround(syntax.EmptyBeginLine, syntax.EmptyEndLine)
	}
	if several {
		sets.add([]rune{'\n', '\n'})
	}
	if p.words {
		// Borders and \b distinguish word characters, so these need classes of their own.
		sets.add([]rune{'0', '9', 'A', 'Z', '_', '_', 'a', 'z'})
	}
	p.joinRunes(&sets)
	if p.classes = newClasses(sets.all); p.classes == nil {
		return nil
	}
	p.choose()
	p.findRestarts()
	return p
}

// surround puts assertions before and behind the whole program. Every match instruction becomes
// the assertion behind, which leads to the new match instruction.
func (p *program) surround(before, after syntax.EmptyOp) {
	end := uint32(len(p.insts))
	for pc := range p.insts {
		if p.insts[pc].op == opMatch {
			p.insts[pc] = inst{op: opEmpty, empty: after, out: end}
		}
	}
	p.insts = append(p.insts, inst{op: opMatch}, inst{op: opEmpty, empty: before, out: p.entry})
	p.entry = end + 1
}

// fewestChoices is the number of alternatives from which on one instruction replaces them.
const fewestChoices = 4

// joinRunes makes one opRune of alternatives between runes of which no two match the same rune. So
// they are one thread.
func (p *program) joinRunes(sets *runeSets) {
	inner := make([]bool, len(p.insts)) // alternatives of alternatives
	for _, in := range p.insts {
		if in.op == opAlt {
			inner[in.out], inner[in.arg] = true, true
		}
	}
	seen := make([]int, len(p.insts))
	for pc := range p.insts {
		if p.insts[pc].op != opAlt || inner[pc] {
			continue
		}
		var choices []uint32
		var ranges [][2]rune
		runes := true
		for stack := []uint32{uint32(pc)}; len(stack) > 0 && runes; {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[at] == pc+1 {
				continue
			}
			seen[at] = pc + 1
			switch in := &p.insts[at]; in.op {
			case opAlt:
				stack = append(stack, in.arg, in.out)
			case opRune:
				choices = append(choices, at)
				for set := range slices.Chunk(sets.all[in.set], 2) {
					ranges = append(ranges, [2]rune(set))
				}
			default:
				runes = false
			}
		}
		slices.SortFunc(ranges, func(a, b [2]rune) int { return int(a[0] - b[0]) })
		var all []rune
		for _, r := range ranges {
			runes = runes && (len(all) == 0 || all[len(all)-1] < r[0])
			all = append(all, r[0], r[1])
		}
		if runes && len(choices) >= fewestChoices {
			p.insts[pc] = inst{op: opRune, set: sets.add(all), choices: choices}
		}
	}
}

// choose fills in the tables of the instructions that joinRunes has made.
func (p *program) choose() {
	for pc := range p.insts {
		choices := p.insts[pc].choices
		if choices == nil {
			continue
		}
		next := make([]uint32, len(p.classes.some))
		for _, c := range choices {
			for class := range next {
				if p.classes.has(uint16(class), p.insts[c].set) {
					next[class] = p.insts[c].out
				}
			}
		}
		p.insts[pc].choices = next
	}
}

// translate returns the instruction at pc, and adds its runes to sets. A class without runes
// never matches.
func translate(from *syntax.Prog, pc uint32, sets *runeSets) inst {
	in := &from.Inst[pc]
	switch in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		return inst{op: opAlt, out: follow(from, in.Out), arg: follow(from, in.Arg)}
	case syntax.InstEmptyWidth:
		return inst{op: opEmpty, empty: syntax.EmptyOp(in.Arg), out: follow(from, in.Out)}
	case syntax.InstCapture:
		return inst{op: opEmpty, empty: wordEdge(in), out: follow(from, in.Out)}
	case syntax.InstMatch:
		return inst{op: opMatch}
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		if set := runesOf(in); len(set) > 0 {
			return inst{op: opRune, set: sets.add(set), out: follow(from, in.Out)}
		}
	}
	return inst{op: opFail}
}

// follow returns the first instruction from pc on that does something.
func follow(from *syntax.Prog, pc uint32) uint32 {
	for in := &from.Inst[pc]; (in.Op == syntax.InstNop || in.Op == syntax.InstCapture) && wordEdge(in) == 0; in = &from.Inst[pc] {
		pc = from.Inst[pc].Out
	}
	return pc
}

// runesOf returns the runes that an instruction matches, as pairs of first and last runes, in
// order.
func runesOf(in *syntax.Inst) []rune {
	switch {
	case in.Op == syntax.InstRuneAny:
		return []rune{0, unicode.MaxRune}
	case in.Op == syntax.InstRuneAnyNotNL:
		return []rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}
	case len(in.Rune) != 1:
		return in.Rune
	case syntax.Flags(in.Arg)&syntax.FoldCase != 0:
		return scan.FoldClass(in.Rune[0])
	}
	return []rune{in.Rune[0], in.Rune[0]}
}

// runeSets numbers the different sets of runes.
type runeSets struct {
	all [][]rune
	ids map[string]int
}

// add returns the number of a set. It keeps the set, which must not be changed afterwards.
func (s *runeSets) add(set []rune) int {
	var text []byte // not string(set), which turns surrogates into U+FFFD
	for _, r := range set {
		text = binary.AppendUvarint(text, uint64(r))
	}
	key := string(text)
	id, ok := s.ids[key]
	if !ok {
		if s.ids == nil {
			s.ids = map[string]int{}
		}
		id = len(s.all)
		s.ids[key] = id
		s.all = append(s.all, set)
	}
	return id
}

// reversed returns a tree whose matches are those of re, read backwards. It does not change re.
func reversed(re *syntax.Regexp) *syntax.Regexp {
	r := *re
	switch re.Op {
	case syntax.OpLiteral:
		r.Rune = slices.Clone(re.Rune)
		slices.Reverse(r.Rune)
	case syntax.OpBeginLine:
		r.Op = syntax.OpEndLine
	case syntax.OpEndLine:
		r.Op = syntax.OpBeginLine
	case syntax.OpBeginText:
		r.Op = syntax.OpEndText
	case syntax.OpEndText:
		r.Op = syntax.OpBeginText
	case syntax.OpCapture:
		if re.Cap < 0 {
			r.Cap = WordStart + WordEnd - re.Cap
		}
	}
	subs := re.Sub
	if re.Op == syntax.OpAlternate {
		subs = spread(subs)
	}
	r.Sub = make([]*syntax.Regexp, len(subs))
	for i, sub := range subs {
		if re.Op == syntax.OpConcat {
			i = len(subs) - 1 - i
		}
		r.Sub[i] = reversed(sub)
	}
	return &r
}

// spread returns alternatives that match as subs do. A common beginning, which the parser has put in front
// of several of them, is in each again. Backwards it is their end, and would keep equal beginnings apart.
func spread(subs []*syntax.Regexp) (all []*syntax.Regexp) {
	for _, sub := range subs {
		last := len(sub.Sub) - 1
		if sub.Op != syntax.OpConcat || sub.Sub[last].Op != syntax.OpAlternate {
			all = append(all, sub)
			continue
		}
		for _, end := range spread(sub.Sub[last].Sub) {
			one := *sub
			one.Sub = append(slices.Clone(sub.Sub[:last]), end)
			all = append(all, &one)
		}
	}
	return all
}

// findRestarts finds which threads begin at each rune but the first.
func (p *program) findRestarts() {
	p.implied = make([]bool, len(p.insts))
	t := newThreads(p, false)
	// The list is cloned, because that of closed is valid only until the next call. The side
	// before a restart is never the edge.
	behindWord := slices.Clone(t.closed([]uint32{p.entry}, word, unknown))
	p.restarts = len(behindWord) > 0 || t.matched
	other := t.closed([]uint32{p.entry}, noWord, unknown)
	p.restarts = p.restarts || len(other) > 0 || t.matched
	for _, pc := range other {
		// A thread is implied if restarts behind word characters and restarts behind other
		// runes both add it.
		p.implied[pc] = slices.Contains(behindWord, pc)
	}
	if p.several {
		begun := t.closed([]uint32{p.entry}, newline, unknown)
		p.restarts = p.restarts || len(begun) > 0 || t.matched
	}
}

// classes divides the runes into classes. All runes of a class belong to the same sets.
type classes struct {
	breaks []rune    // runes at which another class begins, ascending; the first one is 0
	class  []uint16  // class of the runes from each break on
	sets   []members // by set
	ascii  [utf8.RuneSelf]uint16
	low    []uint16 // class of each rune below lowRunes; nil if classes do not change there
	some   []rune   // one rune of each class
	broken uint16   // class of U+FFFD
}

// members has the classes that belong to a set: a bit for each, or only one class if bits is nil.
// Most sets are single runes.
type members struct {
	one  uint16
	bits []uint64
}

// has reports whether all runes of a class belong to a set. Otherwise none does.
func (c *classes) has(class uint16, set int) bool {
	m := &c.sets[set]
	if m.bits == nil {
		return m.one == class
	}
	return m.bits[class/64]>>(class%64)&1 != 0
}

// mostClasses bounds the number of classes.
const mostClasses = math.MaxUint16

// lowRunes is above all runes of one or two bytes. In these scripts classes change often,
// because they have spaces, capitals and small letters.
const lowRunes = 0x800

// newClasses divides all runes into classes, so that each set has all runes of a class or none.
// A set has pairs of first and last runes, in order. newClasses returns nil if there would be
// too many classes.
func newClasses(sets [][]rune) *classes {
	// A new interval begins at the first rune of each range, and behind its last rune.
	breaks := []rune{0}
	for _, set := range sets {
		for i := 0; i < len(set); i += 2 {
			breaks = append(breaks, set[i], set[i+1]+1)
		}
	}
	slices.Sort(breaks)
	breaks = slices.Compact(breaks)
	if last := len(breaks) - 1; breaks[last] > unicode.MaxRune {
		breaks = breaks[:last]
	}
	class, n := partition(breaks, sets)
	if n > mostClasses {
		return nil
	}
	c := &classes{sets: make([]members, len(sets))}
	// Neighbouring intervals of one class become one.
	for i, b := range breaks {
		if n := len(c.class); n == 0 || c.class[n-1] != uint16(class[i]) {
			c.breaks, c.class = append(c.breaks, b), append(c.class, uint16(class[i]))
		}
		if class[i] == len(c.some) { // classes are numbered in the order of their first runes
			c.some = append(c.some, b)
		}
	}
	for id, set := range sets {
		c.sets[id] = newMembers(breaks, class, set, n)
	}
	for r := range c.ascii {
		c.ascii[r] = c.class[c.interval(rune(r))]
	}
	// The table pays only if classes change among these runes.
	if at := c.interval(utf8.RuneSelf); at+1 < len(c.breaks) && c.breaks[at+1] < lowRunes {
		c.low = make([]uint16, lowRunes)
		for r := range c.low {
			c.low[r] = c.class[c.interval(rune(r))]
		}
	}
	c.broken = c.class[c.interval(utf8.RuneError)]
	return c
}

// newMembers returns the classes that belong to a set. class has the class of each interval between
// breaks; there are n classes.
func newMembers(breaks []rune, class []int, set []rune, n int) (m members) {
	first := true
	for i := range intervals(breaks, set) {
		if first {
			m.one, first = uint16(class[i]), false
		} else if class[i] != int(m.one) && m.bits == nil {
			m.bits = make([]uint64, n/64+1)
			m.bits[m.one/64] |= 1 << (m.one % 64)
		}
		if m.bits != nil {
			m.bits[class[i]/64] |= 1 << (class[i] % 64)
		}
	}
	return m
}

// intervals returns the indices of the intervals between breaks that lie in a set.
func intervals(breaks, set []rune) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < len(set); i += 2 {
			at, _ := slices.BinarySearch(breaks, set[i])
			for ; at < len(breaks) && breaks[at] <= set[i+1]; at++ {
				if !yield(at) {
					return
				}
			}
		}
	}
}

// partition returns the class of each interval between breaks, and the number of classes. Intervals
// have the same class if they belong to the same sets. Classes are numbered in the order of their
// first intervals.
func partition(breaks []rune, sets [][]rune) (class []int, n int) {
	class = make([]int, len(breaks))
	// Each set takes the intervals inside of it out of their classes.
	type part struct{ class, set int }
	parts := map[part]int{}
	for id, set := range sets {
		for i := range intervals(breaks, set) {
			p := part{class[i], id}
			if parts[p] == 0 {
				parts[p] = len(parts) + 1
			}
			class[i] = parts[p]
		}
	}
	numbers := map[int]int{}
	for i, c := range class {
		if _, ok := numbers[c]; !ok {
			numbers[c] = len(numbers)
		}
		class[i] = numbers[c]
	}
	return class, len(numbers)
}

// interval returns the index in breaks of the interval that contains r.
func (c *classes) interval(r rune) int {
	at, found := slices.BinarySearch(c.breaks, r)
	if !found {
		at--
	}
	return at
}

// of returns the class of a rune, which is its column in the table.
func (c *classes) of(r rune) uint16 {
	if r < utf8.RuneSelf {
		return c.ascii[r]
	}
	return c.class[c.interval(r)]
}

// bytes divides the byte values into classes. Exchanging two bytes of a class in a text changes
// no result. The newline has a class of its own. bytes returns the class of each byte, and one
// byte of each class.
func (c *classes) bytes() (class [256]uint8, some []byte) {
	// cut[b] says that a class begins at byte b. That is so where UTF-8 changes which bytes may
	// follow.
	var cut [257]bool
	for _, b := range []int{0x80, 0x90, 0xa0, 0xc0, 0xc2, 0xe0, 0xe1, 0xed, 0xee, 0xf0, 0xf1, 0xf4, 0xf5} {
		cut[b] = true
	}
	beyond := false // classes change among the runes beyond ASCII
	for _, r := range c.breaks {
		if r > utf8.RuneSelf {
			beyond = true
			cutBefore(&cut, r)
		}
	}
	// A byte below 0x80 is a rune by itself and has the class of that rune.
	first := map[uint16]uint8{}
	for b := range utf8.RuneSelf {
		id, ok := first[c.ascii[b]]
		if !ok || b == '\n' {
			id = uint8(len(some))
			some = append(some, byte(b))
		}
		if b != '\n' {
			first[c.ascii[b]] = id
		}
		class[b] = id
	}
	// The other bytes are parts of runes.
	for b := utf8.RuneSelf; b < 256; b++ {
		switch {
		case b == 0xf5:
			class[b] = class[0xc0] // neither byte occurs in UTF-8
		case b == 0xee && !beyond:
			class[b] = class[0xe1]
		case cut[b]:
			class[b] = uint8(len(some))
			some = append(some, byte(b))
		default:
			class[b] = class[b-1]
		}
	}
	return class, some
}

// cutBefore separates the bytes of runes below r from the bytes of r and higher runes.
func cutBefore(cut *[257]bool, r rune) {
	if 0xd800 <= r && r <= 0xdfff {
		return // 0xed and 0xee are separate anyway
	}
	var text [utf8.UTFMax]byte
	n := utf8.EncodeRune(text[:], r)
	for i, b := range text[:n] {
		cut[b] = true
		if i < n-1 && slices.ContainsFunc(text[i+1:n], func(b byte) bool { return b != 0x80 }) {
			cut[int(b)+1] = true
		}
	}
}
