package policy

import "mrlocal/slots"

// borrower is the part of a DHFS policy that its percentages decide.
type borrower struct{ options Options }

// Lends implements slots.Lender.
func (b *borrower) Lends() bool { return b.options.BorrowMap > 0 || b.options.BorrowReduce > 0 }

// Borrow implements slots.Borrower.
func (b *borrower) Borrow() (ofMapSlots, ofReduceSlots slots.PPM) {
	return b.options.BorrowMap, b.options.BorrowReduce
}
