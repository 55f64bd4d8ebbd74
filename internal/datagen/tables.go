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
