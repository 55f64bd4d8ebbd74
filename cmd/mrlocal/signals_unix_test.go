//go:build unix

package main

import (
	"context"
	"syscall"
	"testing"
	"time"
)

// TestASignalToACommandThatHangsIsSaidBeforeTheExit has a command that does not return, and a standard
// error that blocks.
func TestASignalToACommandThatHangsIsSaidBeforeTheExit(t *testing.T) {
	said, code, forever := make(chan string, 1), make(chan int, 1), make(chan struct{})
	defer close(forever)
	say := func(cause error) {
		said <- cause.Error()
		<-forever
	}
	ctx, stop := watch(context.Background(), say, func(n int) { code <- n })
	defer stop()
	start := time.Now()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if got := <-code; got != 128+int(syscall.SIGTERM) || time.Since(start) > 2*graceTime {
		t.Errorf("exit %d after %v", got, time.Since(start))
	}
	if text := <-said; text != "interrupted by SIGTERM" {
		t.Errorf("said %q", text)
	}
}
