package datagen

import "strconv"

// tables makes the inputs of jobs that read no prose: ratings of movies, edges of a graph,
// points, and candidates of a self-join. Lines end with the unit, so units can be made in any
// order. The few bytes at the end of a unit in which no line fits are empty lines, which these
// jobs skip.
type tables struct {
	kind Kind
	seed uint64
}

func (tables) unitBytes() int { return textUnitBytes }

// fill writes whole lines until the next one would not fit.
func (g tables) fill(dst []byte, unit int64) {
	r := unitRNG(g.seed, unit)
	var centres [clusters][dimension]int
	if g.kind == Points { // the centres are those of every unit
		c := unitRNG(g.seed, -1)
		for i := range centres {
			for k := range dimension {
				centres[i][k] = c.below(100_000)
			}
		}
	}
	at, line := 0, make([]byte, 0, 4096)
	for n := unit * textUnitBytes; ; n++ { // more numbers than a unit has lines
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

// movie appends "movie:user_rating,user_rating,…", with at most roomBytes. Most movies have few
// ratings, and high ones are more frequent. It appends nothing if there is no room for one.
func movie(dst []byte, number int64, roomBytes int, r *rng) []byte {
	const most = 20 // bytes of a rating, and of the number of a movie
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

// node draws a node of a million. A larger skew makes the first ones more frequent.
func node(r *rng, skew int) int64 {
	n := 1 + r.below(1_000_000)
	for ; skew > 1; skew-- {
		n = 1 + r.below(n)
	}
	return int64(n)
}

// The points lie around so many centres.
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

// candidate appends a sorted list of four items. Some 20,000 prefixes of three repeat.
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
