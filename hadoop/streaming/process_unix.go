//go:build unix

package streaming

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Process is a running command. One goroutine uses it, locked to its thread. The caller
// ends it by Close or Abandon.
type Process struct {
	c       Config
	ctx     context.Context
	process *os.Process // nil: it was reaped
	unwatch func() bool // keeps the end of ctx from a call of kill

	// Our ends of the three pipes, as file descriptors; -1: closed.
	in, out, err int

	pending []byte // to be written to in
	written int    // bytes of pending that were written
	got     []byte // output that Config.Output has not taken
	few     int    // reads of output in a row that gave less than a page
	failed  error  // the first error of Config.Output, of a pipe or of ctx
	broken  bool   // the command reads no more input
	errBuf  []byte // for standard error; nil until there is some

	group struct {
		sync.Mutex
		id int // of the process group; 0: no signal may be sent to it any more
	}
}

// Start starts the command. When ctx ends, the process group of the command is killed, and
// the methods return the cause of ctx.
func Start(ctx context.Context, c Config) (*Process, error) {
	p := &Process{c: c, ctx: ctx, in: -1, out: -1, err: -1}
	theirs, err := p.pipes()
	if err == nil {
		p.process, err = os.StartProcess(c.Args[0], c.Args, &os.ProcAttr{Dir: c.Dir, Env: c.Env, Files: theirs, Sys: attributes()})
	}
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		p.closePipes()
		return nil, err
	}
	p.group.id = p.process.Pid
	p.unwatch = context.AfterFunc(ctx, p.kill)
	p.pending, p.got = make([]byte, 0, PipeBytes), make([]byte, 0, PipeBytes)
	return p, nil
}

// pipes makes the three pipes. Our ends never block. It returns the ends for the command,
// which the caller closes, even if it fails.
func (p *Process) pipes() ([]*os.File, error) {
	var theirs []*os.File
	for i, ours := range []*int{&p.in, &p.out, &p.err} {
		var ends [2]int
		if err := makePipe(&ends); err != nil {
			return theirs, fmt.Errorf("pipe: %w", err)
		}
		mine, other := ends[0], ends[1]
		if i == 0 { // standard input goes the other way
			mine, other = ends[1], ends[0]
		}
		*ours = mine
		theirs = append(theirs, os.NewFile(uintptr(other), "pipe"))
		if err := unix.SetNonblock(mine, true); err != nil {
			return theirs, fmt.Errorf("pipe: %w", err)
		}
	}
	return theirs, nil
}

// Write writes data to the command, after what earlier calls have left in the buffer. It
// borrows data during the call. It returns ErrClosed if the command has closed its standard
// input, or the first error of Config.Output, of a pipe or of the context.
func (p *Process) Write(data []byte) error {
	for len(data) > 0 {
		if p.broken {
			return ErrClosed
		}
		if len(p.pending) == 0 && len(data) >= PipeBytes { // write without a copy
			own := p.pending
			p.pending = data
			err := p.flush()
			if p.pending = own; err != nil || p.broken {
				return cmp.Or(err, ErrClosed)
			}
			return nil
		}
		n := min(len(data), PipeBytes-len(p.pending))
		p.pending = append(p.pending, data[:n]...)
		if data = data[n:]; len(p.pending) == PipeBytes {
			if err := p.flush(); err != nil {
				return err
			}
			if p.broken {
				return ErrClosed
			}
		}
	}
	return p.failed
}

// flush writes all pending bytes, and serves the other pipes meanwhile. If the command has
// closed its input, it drops them.
func (p *Process) flush() error {
	for p.written < len(p.pending) && p.failed == nil && !p.broken {
		if p.serve() == 0 && hasExited(p.process.Pid) {
			p.broken = true // only processes that the command left behind hold the pipe open
		}
	}
	p.pending, p.written = p.pending[:0], 0
	return p.failed
}

// Close writes the pending bytes, closes the input, reads the output to its end, and waits
// for the command. code is the exit code of the command, or 128 plus the number of the signal
// that has killed it, as in Java. The error is that of Config.Output, of a pipe or of the context.
func (p *Process) Close() (code int, err error) {
	_ = p.flush() // its error is in p.failed
	closeEnd(&p.in)
	for p.failed == nil && (p.out >= 0 || p.err >= 0) {
		if p.serve() == 0 && hasExited(p.process.Pid) {
			p.endOutput() // processes that it left behind may hold the pipes open for ever
			break
		}
	}
	if err = p.failed; err != nil {
		p.kill()
	}
	// The end of the context explains a broken pipe, not the other way round.
	if cause := context.Cause(p.ctx); cause != nil {
		err = cause
	}
	p.closePipes()
	state, waited := p.wait()
	if waited != nil && err == nil {
		err = waited
	}
	if state != nil {
		code = state.ExitCode()
		if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			code = 128 + int(s.Signal())
			// The context may have ended, and killed the command, during wait.
			if cause := context.Cause(p.ctx); cause != nil && err == nil {
				err = cause
			}
		}
	}
	return code, err
}

// Abandon kills the command and waits for it. After Close it does nothing.
func (p *Process) Abandon() {
	p.kill()
	p.closePipes()
	_, _ = p.wait()
}

// wait waits for the command to end, kills what is left of its group, and reaps it. The
// order matters: until the leader is reaped, the system gives its number to no other
// process. It returns nil, nil if the command was reaped before.
func (p *Process) wait() (*os.ProcessState, error) {
	if p.process == nil {
		return nil, nil
	}
	if err := waitExit(p.process.Pid); err == nil {
		p.kill() // processes that the command left behind
	}
	p.unwatch()
	p.group.Lock()
	p.group.id = 0
	p.group.Unlock()
	state, err := p.process.Wait()
	p.process = nil
	return state, err
}

// kill kills the process group, unless the command was reaped. Any goroutine may call it.
func (p *Process) kill() {
	p.group.Lock()
	defer p.group.Unlock()
	if p.group.id > 0 {
		_ = unix.Kill(-p.group.id, unix.SIGKILL)
	}
}

// serve waits until pipes are ready, for 200 ms at most, and moves their bytes. It returns
// the number of pipes that were ready. It returns 1 after an interruption or a failure, so
// 0 always means that the time was up. A command that writes each record by itself (as Python
// with PYTHONUNBUFFERED) would wake us each time. Its output gathers in the pipe for a millisecond.
func (p *Process) serve() int {
	var room [3]unix.PollFd
	polled := room[:0]
	if p.written < len(p.pending) && p.in >= 0 {
		polled = append(polled, unix.PollFd{Fd: int32(p.in), Events: unix.POLLOUT})
	}
	const fewReads = 4
	gather := p.few >= fewReads
	if p.out >= 0 && !gather {
		polled = append(polled, unix.PollFd{Fd: int32(p.out), Events: unix.POLLIN})
	}
	if p.err >= 0 {
		polled = append(polled, unix.PollFd{Fd: int32(p.err), Events: unix.POLLIN})
	}
	// A kill closes the pipes of the command, which ends the poll. A process that has left the group
	// may still hold a pipe, so the poll ends by itself too.
	waitMillis := 200
	if gather {
		waitMillis, p.few = 1, fewReads-1
	}
	n, err := unix.Poll(polled, waitMillis)
	switch {
	case err == unix.EINTR:
		return 1
	case err != nil:
		p.fail(fmt.Errorf("poll: %w", err))
		return 1
	case p.ctx.Err() != nil:
		p.fail(context.Cause(p.ctx))
		return 1
	}
	for _, f := range polled {
		if f.Revents == 0 {
			continue
		}
		switch int(f.Fd) {
		case p.in:
			p.writeInput()
		case p.out:
			p.readOutput()
		case p.err:
			p.readError()
		}
	}
	if n > 0 && p.c.Alive != nil {
		p.c.Alive()
	}
	if gather {
		return 1 // the output may have bytes
	}
	return n
}

// writeInput writes as many pending bytes as the pipe takes.
func (p *Process) writeInput() {
	n, err := unix.Write(p.in, p.pending[p.written:])
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
	case err == unix.EPIPE:
		p.broken = true
	case err != nil:
		p.fail(fmt.Errorf("write to the command: %w", err))
	default:
		p.written += n
	}
}

// readOutput reads from the pipe once and passes all output that is left to Config.Output.
func (p *Process) readOutput() {
	if len(p.got) == cap(p.got) && !p.grow() {
		return
	}
	n, err := unix.Read(p.out, p.got[len(p.got):cap(p.got)])
	if err == unix.EAGAIN || err == unix.EINTR {
		return
	}
	if err != nil {
		p.fail(fmt.Errorf("read from the command: %w", err))
		return
	}
	p.got = p.got[:len(p.got)+n]
	if p.few++; n >= 4096 {
		p.few = 0
	}
	if n == 0 {
		p.endOutput()
		return
	}
	p.pass(false)
}

// endOutput closes the pipe and passes the rest of the output to Config.Output, as the end.
// It does nothing if the pipe is closed.
func (p *Process) endOutput() {
	if p.out < 0 {
		return
	}
	closeEnd(&p.out)
	p.pass(true)
}

// pass passes the output that is left to Config.Output, which says how much of it is taken.
func (p *Process) pass(ended bool) {
	taken, err := p.c.Output(p.got, ended)
	if err != nil {
		p.fail(err)
		return
	}
	p.got = p.got[:copy(p.got, p.got[taken:])]
}

// grow doubles the buffer for output, because a record is longer. It reports false, and
// fails the Process, if Config.Charge refuses the memory.
func (p *Process) grow() bool {
	if p.c.Charge != nil {
		if err := p.c.Charge(int64(cap(p.got))); err != nil {
			p.fail(fmt.Errorf("a record of more than %d bytes: %w", cap(p.got), err))
			return false
		}
	}
	p.got = append(make([]byte, 0, 2*cap(p.got)), p.got...)
	return true
}

// readError reads standard error once and passes it to Config.Error.
func (p *Process) readError() {
	if p.errBuf == nil {
		p.errBuf = make([]byte, 8<<10)
	}
	n, err := unix.Read(p.err, p.errBuf)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
	case err != nil || n == 0:
		closeEnd(&p.err)
	case p.c.Error != nil:
		p.c.Error(p.errBuf[:n])
	}
}

// fail keeps err if it is the first error.
func (p *Process) fail(err error) {
	if p.failed == nil {
		p.failed = err
	}
}

// closePipes closes our ends of the pipes.
func (p *Process) closePipes() {
	closeEnd(&p.in)
	closeEnd(&p.out)
	closeEnd(&p.err)
}

// closeEnd closes a file descriptor and sets it to -1, unless it is closed already.
func closeEnd(fd *int) {
	if *fd >= 0 {
		_ = unix.Close(*fd)
		*fd = -1
	}
}
