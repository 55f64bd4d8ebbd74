package feed

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"mrlocal/internal/membudget"
)

// Two pieces with giant records wait for each other in turn, however many records each has. A feeder
// that is stopped while it waits fails with the cause.
func TestGiantsTakeTokensInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPieces(1<<30, membudget.ChunkBytes, 0, 2, 3)
		feeder := func() *Feeder {
			f := &Feeder{pieces: p}
			f.ctx, f.cancel = context.WithCancelCause(t.Context())
			if err := f.takeTokens(1); err != nil {
				t.Fatal(err)
			}
			return f
		}
		first, second, third := feeder(), feeder(), feeder()
		if err := first.takeTokens(p.most); err != nil {
			t.Fatal(err)
		}
		var waited [2]error
		go func() { waited[0] = third.takeTokens(p.most) }()
		synctest.Wait()
		go func() { waited[1] = second.takeTokens(p.most) }()
		synctest.Wait()
		// Another giant record of the first piece needs no more tokens.
		if err := first.takeTokens(p.most); err != nil {
			t.Fatal(err)
		}
		if third.tokensHeld != 1 || second.tokensHeld != 1 {
			t.Errorf("waiting pieces hold %d and %d tokens", third.tokensHeld, second.tokensHeld)
		}
		cause := errors.New("stopped")
		third.Stop(cause)
		synctest.Wait()
		p.tokens.Release(first.tokensHeld)
		p.tokens.Release(third.tokensHeld)
		synctest.Wait()
		if waited[0] != cause {
			t.Errorf("stopped: %v", waited[0])
		}
		if waited[1] != nil || second.tokensHeld != p.most {
			t.Errorf("the second giant holds %d tokens, with error %v", second.tokensHeld, waited[1])
		}
	})
}
