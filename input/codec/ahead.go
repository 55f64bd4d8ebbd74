package codec

import "sync"

// demand is the memory of decoding ahead, in bytes: of two goroutines with three
// units, and of each further goroutine with a unit.
type demand struct{ first, more int64 }

// demands are what each codec asks for. Codecs without a demand are not decoded
// ahead.
//
// A unit of bzip2 is one block: at most 1 MiB as stored and 2 MiB as text. Its
// decoder has a table of 3.6 MB. A unit of members or frames has 4 MiB as stored and
// 8 MiB as text at most, which is what pzstd makes by default.
var demands = [codecs]demand{Bzip2: {16 << 20, 8 << 20}, Gzip: {48 << 20, 16 << 20}, Zstd: {48 << 20, 16 << 20}}

// AheadBytes returns how many bytes the given number of goroutines, but at least
// two, ask of Spare together to decode a file ahead. It returns 0 if the codec is
// not decoded ahead.
func (c Codec) AheadBytes(goroutines int) int64 {
	if c >= codecs || demands[c].first == 0 {
		return 0
	}
	return demands[c].first + demands[c].more*int64(goroutines-2)
}

// mostHelpers bounds the goroutines of one file, whatever memory there is.
const mostHelpers = 64

// unit is a part of a compressed file that can be decoded without the parts before
// it: a block of bzip2, or whole members or frames. The reader fills stored, a
// helper fills text and ok, and the reader waits for done between the two.
type unit struct {
	at, end int64 // its range in the file, in bits
	stored  []byte
	text    []byte
	ok      bool // text is all of the unit; false: the reader decodes it itself
	// One element is buffered, so a helper never waits for the reader.
	done chan struct{}
}

// ahead decodes units on goroutines of its own, while the reader hands out the text
// of earlier ones. A unit that a helper cannot decode, for whatever reason, is left
// to the reader. So errors do not depend on who decodes. One goroutine uses ahead.
type ahead struct {
	moreBytes int64 // of one more helper
	spare     func(bytes int64) (release func(), ok bool)
	run       func(work <-chan *unit) // a helper; it ends when work is closed
	work      chan *unit
	queue     []*unit // given to helpers, in the order of the file
	idle      []*unit
	helpers   int
	release   []func()
	ended     sync.WaitGroup
}

// start starts two helpers. It reports whether there is memory for them.
func (a *ahead) start(d demand, spare func(int64) (func(), bool), run func(work <-chan *unit)) bool {
	if spare == nil {
		return false
	}
	release, ok := spare(d.first)
	if !ok {
		return false
	}
	// The queue holds one unit more than there are helpers (wants), so a send never blocks.
	*a = ahead{moreBytes: d.more, spare: spare, run: run, work: make(chan *unit, mostHelpers+1), release: []func(){release}}
	a.help()
	a.help()
	return true
}

// help starts one helper. close waits for it.
func (a *ahead) help() {
	a.helpers++
	a.ended.Go(func() {
		a.run(a.work)
	})
}

// wants reports whether another unit should be handed out. Where all helpers are
// busy it starts another one, if there is memory for it.
func (a *ahead) wants() bool {
	if a.work == nil {
		return false
	}
	// One unit a helper, and one that waits, so that no helper idles between two of them.
	if len(a.queue) <= a.helpers {
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

// take returns a unit to be filled.
func (a *ahead) take() *unit {
	if n := len(a.idle); n > 0 {
		u := a.idle[n-1]
		a.idle = a.idle[:n-1]
		u.stored, u.text, u.ok = u.stored[:0], u.text[:0], false
		return u
	}
	return &unit{done: make(chan struct{}, 1)}
}

// hand hands a unit to the helpers.
func (a *ahead) hand(u *unit) {
	a.queue = append(a.queue, u)
	a.work <- u // there is room, because wants was asked
}

// pop waits for the first unit of the queue and returns it.
func (a *ahead) pop() *unit {
	// The reader waits for the oldest unit: text is handed out in the order of the file.
	u := a.queue[0]
	a.queue = a.queue[1:]
	<-u.done
	return u
}

// close ends the helpers, waits for them, and gives their memory back. Units that
// they had not begun stay undecoded. It may be called again.
func (a *ahead) close() {
	if a.work == nil {
		return
	}
	for emptied := false; !emptied; {
		select {
		case u := <-a.work:
			u.done <- struct{}{}
		default:
			emptied = true
		}
	}
	close(a.work)
	a.ended.Wait()
	// The reader still walks through these units, and decodes each of them itself.
	for _, u := range a.queue {
		<-u.done
		u.ok, u.text = false, nil
		u.done <- struct{}{} // for pop
	}
	for _, release := range a.release {
		release()
	}
	a.work, a.idle, a.release = nil, nil, nil
}
