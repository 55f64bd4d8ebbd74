package stream

// Hadoop's default partitioner sends a key to reduce (hash & 0x7fffffff) % reduces. The hash
// of Text begins with 1 and takes each byte, as a signed one, by hash*31 + byte (Hadoop 3.4,
// WritableComparator.hashBytes, HashPartitioner). A label stands at the end of a key, so
// that it decides nothing about the order of keys. Its letters are chosen one key at a
// time: the last letter moves the hash by 1, the one before by 31, and so on.
//
// Letters are printable ASCII. With n letters the hash reaches span(n) values in a row. At most
// once in them it leaps from 2^31-1 to 0, so 2*reduces values in a row always contain
// one for each reduce.
const (
	firstLetter = 33 // '!'
	letters     = 94 // up to '~'
)

// labelLetters returns how many letters a label for so many reduces has.
func labelLetters(reduces int) int {
	n := 1
	for span := letters; span < 2*reduces; n++ {
		span = 31*span + letters - 31
	}
	return n
}

// hashOf returns Hadoop's hash of p, which continues from hash. Of a whole key, hash is 1.
func hashOf(hash int32, p []byte) int32 {
	for _, b := range p {
		hash = 31*hash + int32(int8(b))
	}
	return hash
}

// appendLabel appends to key the label with which Hadoop sends it to the reduce target, one of
// 0 to reduces-1.
func appendLabel(key []byte, target, reduces int) []byte {
	n := labelLetters(reduces)
	hash := hashOf(1, key)
	for range n {
		hash = 31*hash + firstLetter
	}
	return appendMove(key, n, distance(hash, target, reduces))
}

// distance returns how far hash has to move on until it leads to target, less than 2*reduces.
func distance(hash int32, target, reduces int) int64 {
	from := int64(hash & 0x7fffffff)
	away := (int64(target) - from%int64(reduces) + int64(reduces)) % int64(reduces)
	if from+away > 0x7fffffff { // it leaps to 0 on its way
		away = 0x80000000 - from + int64(target)
	}
	return away
}

// appendMove appends n letters that move the hash by away.
func appendMove(key []byte, n int, away int64) []byte {
	weight := int64(1)
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
