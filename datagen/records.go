package datagen

// rowBytes is the length of a TeraGen row.
const rowBytes = 100

// A unit is what one goroutine makes at a time, about 1 MB.
const (
	rowsPerUnit = 10_000
	keyBytes    = 10
	idBytes     = 10
)

// teraGen makes the rows of Hadoop 0.20, TeraGen: a key of 10 printable bytes, the
// row's number in 10 bytes, 78 bytes of filler, CR LF.
//
//	.t^#\|v$2\         0AAAAAAAAAABBBBBBBBBB…HHHHHHHH\r\n
//
// Rows depend on their number alone, so units can be made in any order.
type teraGen struct {
	start uint32 // state of the random generator before row 0
}

// The random generator of keys: state' = state·mul + inc mod 2^32, three draws a row.
// These are the constants of TeraGen, so the rows have the same bytes.
const (
	lcgMul      = 3141592621
	lcgInc      = 663896637
	drawsPerRow = 3
)

// seedStride is the number of rows between the keys of two successive seeds.
// In draws it is about an eighth of the cycle of 2^32.
const seedStride = 178_956_971

// newTeraGen starts where TeraGen starts for the seeds 0 and 1. Other seeds start
// elsewhere in the one cycle of the random generator. Row numbers count from 0 for
// every seed.
func newTeraGen(seed uint64) teraGen {
	return teraGen{lcgJump(0, (max(seed, 1)-1)*seedStride*drawsPerRow)}
}

// lcgJump returns the state n draws after state. It applies the affine step n times
// by repeated squaring.
// It takes as many steps as n has bits.
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

// unitBytes is the length of a unit in bytes, in all generators of this package.
func (teraGen) unitBytes() int { return rowsPerUnit * rowBytes }

// fill writes the rows of a unit.
func (g teraGen) fill(dst []byte, unit int64) {
	row := unit * rowsPerUnit
	// The state before the first row of the unit follows from the row's number.
	state := lcgJump(g.start, uint64(row)*drawsPerRow)
	// Ten of each letter, as they stand in a row.
	var filler [26 * 10]byte
	for i := range filler {
		filler[i] = 'A' + byte(i/10)
	}
	for ; len(dst) >= rowBytes; dst = dst[rowBytes:] {
		state = teraRow((*[rowBytes]byte)(dst), state, row, &filler)
		row++
	}
}

// teraRow writes a row and returns the generator's state after it.
// A row has the layout of Hadoop's. The number is cut to 32 bits.
//
// hot: once a row.
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
		// Leading zeros are blanks.
		if id > 0 || i == keyBytes+idBytes-1 {
			r[i] = '0' + byte(id%10)
			id /= 10
		} else {
			r[i] = ' '
		}
	}
	const begin = keyBytes + idBytes
	// A row has eight letters of the filler, and the next row begins behind them.
	base := int(row*8%26) * 10
	n := copy(r[begin:begin+78], filler[base:])
	copy(r[begin+n:begin+78], filler[:])
	r[98], r[99] = '\r', '\n'
	return state
}
