package stream

// Hadoop's default partitioner sends a key to reduce (hash & 0x7fffffff) % reduces. The hash
// of Text begins with 1, and each byte, as a signed one, makes it hash*31 + byte (Hadoop 3.4,
// WritableComparator.hashBytes, HashPartitioner). A label is a suffix of a key that sets the
// remainder of the hash. It stands at the end, so it does not change the order of keys.
//
// The letters of a label are printable ASCII. A step of the last letter changes the hash by 1,
// a step of the letter before it by 31, and so on. So n letters reach 94 + 93*(31 + 31^2 + … +
// 31^(n-1)) hashes in a row. In such a row the hash falls from 2^31-1 to 0 once at most. So
// 2*reduces hashes in a row always hold one for each reduce.
const (
	firstLetter = 33 // '!'
	letters     = 94 // up to '~'
)

// labelLetters returns the number of letters of a label: the least number that reaches 2*reduces
// hashes in a row.
func labelLetters(reduces int) int {
	n := 1
	for span := letters; span < 2*reduces; n++ {
		span = 31*span + letters - 31
	}
	return n
}

// hashOf returns Hadoop's hash of a key that ends with p. hash is that of the bytes before p, or
// 1 if p is the whole key.
func hashOf(hash int32, p []byte) int32 {
	for _, b := range p {
		hash = 31*hash + int32(int8(b))
	}
	return hash
}

// appendLabel appends to key the label that makes Hadoop send the key to reduce target, from 0 to
// reduces-1.
func appendLabel(key []byte, target, reduces int) []byte {
	n := labelLetters(reduces)
	hash := hashOf(1, key) // then with a label of only first letters
	for range n {
		hash = 31*hash + firstLetter
	}
	return appendMove(key, n, distance(hash, target, reduces))
}

// distance returns the least number to add to hash, so that the sum leads to target. It is less
// than 2*reduces.
func distance(hash int32, target, reduces int) int64 {
	from := int64(hash & 0x7fffffff)
	away := (int64(target) - from%int64(reduces) + int64(reduces)) % int64(reduces)
	if from+away > 0x7fffffff { // the sum falls to 0 on its way
		away = 0x80000000 - from + int64(target)
	}
	return away
}

// appendMove appends n letters that change the hash by away, beyond n first letters.
func appendMove(key []byte, n int, away int64) []byte {
	weight := int64(1) // by which a step of the current letter changes the hash
	for range n - 1 {
		weight *= 31
	}
	for ; weight > 0; weight /= 31 {
		d := min(away/weight, letters-1)
		key = append(key, byte(firstLetter+d))
		away -= d * weight
	}
	return key
}
