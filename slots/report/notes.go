package report

import (
	"slices"
	"sync"
)

// Notes keeps the notes of a run for its report. The zero value is ready to use.
type Notes struct {
	lock sync.Mutex
	kept []string // under lock
}

// Keep returns a function that keeps a note and passes it to note. Any goroutine may call the
// function. It holds no lock while it calls note.
func (n *Notes) Keep(note func(string)) func(string) {
	return func(text string) {
		n.lock.Lock()
		n.kept = append(n.kept, text)
		n.lock.Unlock()
		note(text)
	}
}

// All returns the notes so far.
func (n *Notes) All() []string {
	n.lock.Lock()
	defer n.lock.Unlock()
	return slices.Clip(n.kept)
}
