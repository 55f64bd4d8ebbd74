package membudget

import "testing"

// Both twins say how far to skip: within the data, and to where an aligned
// address would be, which only the one with unsafe can know.
func FuzzAlignment(f *testing.F) {
	f.Add(uint8(3), uint8(12))
	f.Fuzz(func(t *testing.T, offset, log uint8) {
		unit := 1 << (log % 13)
		data := make([]byte, 2<<13)[offset:]
		skip := alignment(data, unit)
		if skip < 0 || skip >= unit {
			t.Fatalf("skip %d of %d", skip, unit)
		}
		if skip > 0 && alignment(data[skip:], unit) != 0 {
			t.Fatalf("not aligned after %d", skip)
		}
	})
}
