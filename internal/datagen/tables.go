package datagen

import "strconv"

// tables makes the inputs of jobs that read tables: ratings of movies, edges of a graph,
// points, and candidates of a self-join. No line crosses the end of a unit, so units can be
// made in any order. If no further line fits in a unit, the rest of it is empty lines, which
// these jobs skip.
type tables struct {
	kind Kind
	seed uint64
}

// unitBytes implements generator.
func (tables) unitBytes() int { return textUnitBytes }

// fill implements generator. It writes whole lines until the next one does not fit.
func (g tables) fill(dst []byte, unit int64) {
	r := unitRNG(g.seed, unit)
	var centres [clusters][dimension]int
	if g.kind == Points { // all units have the same centres
		c := unitRNG(g.seed, -1)
		for i := range centres {
			for k := range dimension {
				centres[i][k] = c.below(100_000)
			}
		}
	}
	at, line := 0, make([]byte, 0, 4096)
	for n := unit * textUnitBytes; ; n++ { // numbers of movies do not repeat: a unit has fewer lines than bytes
		switch g.kind {
		case Movies:
			line = movie(line[:0], n, len(dst)-at, &r)
		case Edges:
			line = append(strconv.AppendInt(line[:0], node(&r, 2), 10), '\t')
			line = append(strconv.AppendInt(line, node(&r, 4), 10), '\n')
		case Points:
			line = point(line[:0], &centres[r.below(clusters)], &r)
		case Candidates:
			line = candidate(line[:0], &r)
		}
		if len(line) == 0 || at+len(line) > len(dst) {
			break
		}
		at += copy(dst[at:], line)
	}
	for ; at < len(dst); at++ {
		dst[at] = '\n'
	}
}

// movie appends "movie:user_rating,user_rating,…" with at most roomBytes. Most movies have few
// ratings, and high ratings are more frequent. It appends nothing if there is no room for a
// movie with one rating.
func movie(dst []byte, number int64, roomBytes int, r *rng) []byte {
	const most = 20 // bytes of a rating, and of the number of a movie, at most
	if roomBytes < 2*most {
		return dst
	}
	dst = append(strconv.AppendInt(dst, number, 10), ':')
	ratings := 1 + r.below(1+r.below(400))
	for i := 0; i < ratings && len(dst) < min(roomBytes, 4096)-most; i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(strconv.AppendInt(dst, int64(r.below(2_649_430)), 10), '_', '1'+byte(max(r.below(5), r.below(5))))
	}
	return append(dst, '\n')
}

// node draws one of a million nodes. A larger skew makes nodes with low numbers more frequent.
func node(r *rng, skew int) int64 {
	n := 1 + r.below(1_000_000)
	for ; skew > 1; skew-- {
		n = 1 + r.below(n)
	}
	return int64(n)
}

// The points lie around this number of centres, in this number of dimensions.
const (
	clusters  = 10
	dimension = 6
)

// point appends a point near a centre: numbers from about 0 to 100 with 3 decimals.
func point(dst []byte, centre *[dimension]int, r *rng) []byte {
	for k := range dimension {
		n := centre[k] + r.below(8000) + r.below(8000) - 8000
		if k > 0 {
			dst = append(dst, ' ')
		}
		if n < 0 {
			dst, n = append(dst, '-'), -n
		}
		dst = append(strconv.AppendInt(dst, int64(n/1000), 10), '.')
		dst = append(dst, '0'+byte(n/100%10), '0'+byte(n/10%10), '0'+byte(n%10))
	}
	return append(dst, '\n')
}

// candidate appends a sorted list of four items. There are only about 20,000 prefixes of three
// items, so prefixes repeat.
func candidate(dst []byte, r *rng) []byte {
	item := 0
	for i, below := range [4]int{50, 20, 20, 1000} {
		item += 1 + r.below(below)
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, 'i', '0'+byte(item/1000%10), '0'+byte(item/100%10), '0'+byte(item/10%10), '0'+byte(item%10))
	}
	return append(dst, '\n')
}

// rowBytes is the length of a TeraGen row.
const rowBytes = 100

// A unit is the data that one goroutine makes at a time, about 1 MB. Lengths are in bytes.
const (
	rowsPerUnit = 10_000
	keyBytes    = 10
	idBytes     = 10
)

// teraGen makes the rows of TeraGen in Hadoop 0.20. A row is a key of 10 printable bytes,
// its number in 10 bytes, 78 bytes of filler, and CR LF.
//
//	.t^#\|v$2\         0AAAAAAAAAABBBBBBBBBB…HHHHHHHH\r\n
//
// A row depends only on its number and the seed, so units can be made in any order. Row numbers count from 0 for
// every seed.
type teraGen struct {
	start uint32 // state of the random generator before row 0
}

// The random generator of keys is state' = state·mul + inc mod 2^32, with three draws for each
// row. The constants are those of TeraGen, so the rows have the same bytes.
const (
	lcgMul      = 3141592621
	lcgInc      = 663896637
	drawsPerRow = 3
)

// seedStride is the number of rows between the starts of two successive seeds. In draws, it is
// about an eighth of the cycle of 2^32.
const seedStride = 178_956_971

// lcgJump returns the state n draws after state. It applies the affine step n times by repeated
// squaring, which takes as many iterations as n has bits.
func lcgJump(state uint32, n uint64) uint32 {
	mul, inc := uint32(lcgMul), uint32(lcgInc)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			state = state*mul + inc
		}
		inc += inc * mul
		mul *= mul
	}
	return state
}

// unitBytes implements generator.
func (teraGen) unitBytes() int { return rowsPerUnit * rowBytes }

// fill implements generator. It writes whole rows.
func (g teraGen) fill(dst []byte, unit int64) {
	row := unit * rowsPerUnit
	// The state before the first row of the unit depends only on the row's number.
	state := lcgJump(g.start, uint64(row)*drawsPerRow)
	// Ten of each letter, in the order of a row.
	var filler [26 * 10]byte
	for i := range filler {
		filler[i] = 'A' + byte(i/10)
	}
	for ; len(dst) >= rowBytes; dst = dst[rowBytes:] {
		state = teraRow((*[rowBytes]byte)(dst), state, row, &filler)
		row++
	}
}

// teraRow writes a row and returns the state of the random generator after it. The number of
// the row is cut to 32 bits, as in Hadoop.
//
// hot: runs once for each row.
func teraRow(r *[rowBytes]byte, state uint32, row int64, filler *[260]byte) uint32 {
	// Three draws give twelve characters, of which ten are used.
	var key [12]byte
	for i := 0; i < 12; i += 4 {
		state = state*lcgMul + lcgInc
		t := state / 52
		key[i+3] = ' ' + byte(t%95)
		t /= 95
		key[i+2] = ' ' + byte(t%95)
		t /= 95
		key[i+1] = ' ' + byte(t%95)
		t /= 95
		key[i] = ' ' + byte(t%95)
	}
	copy(r[:keyBytes], key[:])
	id := uint32(row)
	for i := keyBytes + idBytes - 1; i >= keyBytes; i-- {
		// Leading zeros become blanks.
		if id > 0 || i == keyBytes+idBytes-1 {
			r[i] = '0' + byte(id%10)
			id /= 10
		} else {
			r[i] = ' '
		}
	}
	const begin = keyBytes + idBytes
	// A row has eight letters of the filler, and the next row continues with the letter behind
	// them.
	base := int(row*8%26) * 10
	n := copy(r[begin:begin+78], filler[base:])
	copy(r[begin+n:begin+78], filler[:])
	r[98], r[99] = '\r', '\n'
	return state
}
