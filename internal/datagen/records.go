package datagen

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
