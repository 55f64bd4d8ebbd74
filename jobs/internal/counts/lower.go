package counts

import "encoding/binary"

const (
	lows   = 0x0101010101010101
	highs  = 0x8080808080808080
	sevens = 0x7f7f7f7f7f7f7f7f
)

// Lower changes A to Z in p to a to z, eight bytes at a time.
//
// hot: with IgnoreCase it sees each byte of the input.
func Lower(p []byte) {
	for ; len(p) >= 8; p = p[8:] {
		v := binary.LittleEndian.Uint64(p)
		low := v & sevens
		upper := (low + (0x80-'A')*lows) &^ (low + (0x80-'Z'-1)*lows) &^ v & highs
		binary.LittleEndian.PutUint64(p, v|upper>>2)
	}
	for i, c := range p {
		if c-'A' < 26 {
			p[i] = c | 0x20
		}
	}
}
