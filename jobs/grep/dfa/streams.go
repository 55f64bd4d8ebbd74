package dfa

// together walks the pieces at the same time until one of them is at its end.
// It leaves in pieces what it did not walk.
func (d *lines) together(pieces *[streams][]byte) (began int64) {
	// Each piece begins at the start of a line.
	for i := range d.live {
		d.live[i] = d.begin
	}
	for !d.gaveUp {
		// All streams take the same number of steps, so that the loop has one counter.
		n := len(pieces[0])
		for _, p := range pieces {
			n = min(n, len(p))
		}
		if n == 0 {
			break
		}
		at, some := d.walkAll(pieces, n)
		began += int64(some)
		d.walked += streams * at
		for i := range pieces {
			pieces[i] = pieces[i][at:]
		}
		// The shortest piece is at its end. The caller finishes the others one by one.
		if at == n {
			break
		}
		for i := range pieces {
			began += d.finish(i, pieces[i][:1])
			pieces[i] = pieces[i][1:]
		}
	}
	return began
}

// walkBytes is walk for all streams: up to n bytes of each, as far as the
// states are known.
//
// hot: it sees each byte, on processors for which there is no assembly.
func (d *lines) walkBytes(pieces *[streams][]byte, n int) (at, began int) {
	// Local variables stay in registers.
	s0, s1, s2, s3 := d.live[0], d.live[1], d.live[2], d.live[3]
	// Slices of length n spare the loop the checks of bounds.
	p0, p1, p2, p3 := pieces[0][:n], pieces[1][:n], pieces[2][:n], pieces[3][:n]
	table, class := d.table, &d.class
	counted := uint32(0)
	for at < n {
		n0 := table[s0+uint32(class[p0[at]])]
		n1 := table[s1+uint32(class[p1[at]])]
		n2 := table[s2+uint32(class[p2[at]])]
		n3 := table[s3+uint32(class[p3[at]])]
		// One unknown state stops all streams before this byte. It is computed outside of the
		// loop.
		if n0 == 0 || n1 == 0 || n2 == 0 || n3 == 0 {
			break
		}
		// Only the row behind a match is odd.
		counted += n0&1 + n1&1 + n2&1 + n3&1
		s0, s1, s2, s3 = n0, n1, n2, n3
		at++
	}
	d.live = [streams]uint32{s0, s1, s2, s3}
	return at, int(counted)
}
