package codec

import (
	"io"
	"slices"

	"mrlocal/internal/inorder"
)

// demand is the memory of decoding ahead, in bytes: first for two goroutines with three units,
// and more for each further goroutine with one unit.
type demand struct{ first, more int64 }

// demands has the demand of each codec. Codecs without a demand are not decoded ahead.
//
// A unit of bzip2 is one block: at most 1 MiB as stored and 2 MiB as text. Its
// decoder has a table of 3.6 MB. A unit of gzip members has 4 MiB as stored and 8 MiB as text at most.
var demands = [codecs]demand{Bzip2: {16 << 20, 8 << 20}, Gzip: {48 << 20, 16 << 20}}

// AheadBytes returns the bytes that Decoders ask of Spare in all to decode one file ahead with so
// many goroutines, at least two. It returns 0 if the codec is not decoded ahead.
func (c Codec) AheadBytes(goroutines int) int64 {
	if c >= codecs || demands[c].first == 0 {
		return 0
	}
	return demands[c].first + demands[c].more*int64(goroutines-2)
}

// mostHelpers bounds the goroutines of one file, whatever memory there is.
const mostHelpers = 64

// unit is a part of a compressed file that can be decoded without the parts before it. It is a
// block of bzip2, or whole gzip members. The reader fills stored and passes the unit to a
// helper, which sets text and ok. When the reader has taken it from the queue, the unit is the reader's again.
type unit struct {
	at, end int64 // its range in the file, in bits (bzip2 only)
	stored  []byte
	text    []byte
	ok      bool // text is all of the unit; false: the reader decodes it itself
}

// decoder appends the text of the stored bytes of a unit to dst. It returns false if they are not whole, or
// have more text than the memory of decoding ahead is for. Each helper has a decoder of its own.
type decoder func(stored, dst []byte) (text []byte, ok bool)

// appendAll is a decoder's work: it appends what r has to dst. It returns false after an error of r, and if
// there are more than most bytes.
func appendAll(dst []byte, r io.Reader, most int) ([]byte, bool) {
	for {
		dst = slices.Grow(dst, roomBytes)
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if err != nil || len(dst) > most {
			return dst, err == io.EOF && len(dst) <= most
		}
	}
}

// roomBytes is the room behind the text of a unit. A decoder reports the end only with a read that has room.
const roomBytes = 4 << 10

// ahead decodes units on goroutines of its own, while the reader returns the text of
// earlier units. The reader itself decodes a unit that a helper cannot decode, so errors do not
// depend on helpers. Only the reader's goroutine uses ahead.
type ahead struct {
	moreBytes  int64 // of one more helper
	spare      func(bytes int64) (release func(), ok bool)
	newDecoder func() decoder       // makes the decoder of a helper
	decoders   chan decoder         // of the helpers that are idle; nil: closed, or not started
	queue      inorder.Queue[*unit] // passed to helpers, in the order of the file
	unit       *unit                // whose text is read; nil: none
	sent       int                  // bytes of its text that were read
	idle       []*unit              // to be used again
	helpers    int                  // number of decoders
	release    []func()             // of spare
}

// start starts two helpers. It reports whether there is memory for them.
func (a *ahead) start(d demand, spare func(int64) (func(), bool), newDecoder func() decoder) bool {
	if spare == nil {
		return false
	}
	release, ok := spare(d.first)
	if !ok {
		return false
	}
	*a = ahead{moreBytes: d.more, spare: spare, newDecoder: newDecoder, decoders: make(chan decoder, mostHelpers), release: []func(){release}}
	a.help()
	a.help()
	return true
}

// help adds a helper.
func (a *ahead) help() {
	a.helpers++
	a.decoders <- a.newDecoder()
}

// wants reports whether another unit should be passed to the helpers. If all of them are busy, it
// starts another one, if there is memory for it.
func (a *ahead) wants() bool {
	if a.decoders == nil {
		return false
	}
	// There is one unit for each helper and one that waits, so that no helper is idle between two
	// units.
	if a.queue.Len() <= a.helpers {
		return true
	}
	if a.helpers < mostHelpers {
		if release, ok := a.spare(a.moreBytes); ok {
			a.release = append(a.release, release)
			a.help()
			return true
		}
	}
	return false
}

// take returns an empty unit.
func (a *ahead) take() *unit {
	u := &unit{}
	if n := len(a.idle); n > 0 {
		u, a.idle = a.idle[n-1], a.idle[:n-1]
	}
	*u = unit{stored: u.stored[:0], text: u.text[:0]}
	return u
}

// hand passes a unit to the next helper that is idle.
func (a *ahead) hand(u *unit) {
	decoders := a.decoders
	a.queue.Go(u, func(u *unit) {
		decode := <-decoders
		u.text, u.ok = decode(u.stored, u.text)
		decoders <- decode
	})
}

// read reads text of the open unit. At its end it returns 0, and no unit is open.
func (a *ahead) read(p []byte) int {
	n := copy(p, a.unit.text[a.sent:])
	a.sent += n
	if n == 0 {
		a.idle = append(a.idle, a.unit)
		a.unit, a.sent = nil, 0
	}
	return n
}

// close waits for the helpers, and gives their memory back. The units of the queue stay
// there, and the reader decodes them itself. It may be called again.
func (a *ahead) close() {
	a.queue.Wait()
	// Text that the reader has not read is dropped, because its memory is given back.
	for u := range a.queue.All() {
		u.ok, u.text = false, nil
	}
	for _, release := range a.release {
		release()
	}
	a.decoders, a.idle, a.release = nil, nil, nil
}
