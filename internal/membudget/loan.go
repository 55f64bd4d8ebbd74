package membudget

// Loan is a chunk that its owner lends to a borrower, who reads what is in it
// and may take the chunk over. This is the only place that says who owns such
// a chunk: the lender while Taken is false, and the borrower from Take on. The
// lender looks when the loan ends; it gives back only what was not taken.
type Loan struct {
	Chunk *Chunk
	Lease *Lease // the lender's, which pays for the chunk; nil: the borrower's own
	taken bool
}

// Take makes the borrower, whose lease is to, the owner of the chunk.
func (l *Loan) Take(to *Lease) {
	if l.Lease != nil {
		l.Lease.Transfer(to, l.Chunk)
	}
	l.taken = true
}

// Taken reports whether the borrower has taken the chunk over.
func (l *Loan) Taken() bool { return l.taken }
