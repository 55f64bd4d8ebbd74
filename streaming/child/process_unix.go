//go:build unix

package child

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Process is a command that runs. One goroutine uses it, locked to its thread.
type Process struct {
	c       Config
	ctx     context.Context
	process *os.Process
	unwatch func() bool

	// The ends of the pipes; -1: closed.
	in, out, err int

	pending []byte // to be written
	written int    // of pending, so far
	got     []byte // read, and not taken by Output
	failed  error  // the first error of Output or of a pipe
	broken  bool   // standard input was closed by the command
	noise   []byte // for standard error; made when there is some

	group struct {
		sync.Mutex
		id int // of processes; 0: all are gone
	}
}

// Start runs the command. ctx bounds its life.
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
	p.pending, p.got = make([]byte, 0, BufferBytes), make([]byte, 0, BufferBytes)
	return p, nil
}

// pipes makes the three pipes. Our ends never block; it returns the ends of the
// command.
func (p *Process) pipes() ([]*os.File, error) {
	var theirs []*os.File
	for i, ours := range []*int{&p.in, &p.out, &p.err} {
		var ends [2]int
		if err := makePipe(&ends); err != nil {
			return theirs, fmt.Errorf("pipe: %w", err)
		}
		mine, other := ends[0], ends[1]
		if i == 0 {
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

// Write takes data for the command. It returns ErrClosed if the command wants no
// more, and the first error of Config.Output.
func (p *Process) Write(data []byte) error {
	for len(data) > 0 {
		if p.broken {
			return ErrClosed
		}
		if len(p.pending) == 0 && len(data) >= BufferBytes { // without a copy
			own := p.pending
			p.pending = data
			err := p.flush()
			if p.pending = own; err != nil || p.broken {
				return cmp.Or(err, ErrClosed)
			}
			return nil
		}
		n := min(len(data), BufferBytes-len(p.pending))
		p.pending = append(p.pending, data[:n]...)
		if data = data[n:]; len(p.pending) == BufferBytes {
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

// flush writes what is pending, and serves the other pipes meanwhile. When the
// command has closed its input, what is pending is dropped.
func (p *Process) flush() error {
	for p.written < len(p.pending) && p.failed == nil && !p.broken {
		if p.serve() == 0 && hasExited(p.process.Pid) {
			p.broken = true // only what the command has left behind holds the pipe
		}
	}
	p.pending, p.written = p.pending[:0], 0
	return p.failed
}

// Close ends the input, reads the output to its end and waits for the command. The
// error is that of Config.Output or of the context; an exit code is no error.
func (p *Process) Close() (Exit, error) {
	_ = p.flush() // p.failed keeps its error
	exit := Exit{ClosedEarly: p.broken}
	closeEnd(&p.in)
	for p.failed == nil && (p.out >= 0 || p.err >= 0) {
		if p.serve() == 0 && hasExited(p.process.Pid) {
			p.endOutput() // what it has left behind may hold the pipes for ever
			break
		}
	}
	err := p.failed
	if err != nil {
		p.kill()
	}
	if cause := context.Cause(p.ctx); cause != nil {
		err = cause
	}
	p.closePipes()
	state, waited := p.wait()
	if waited != nil && err == nil {
		err = waited
	}
	if state != nil {
		exit.Code = state.ExitCode()
		if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			exit.Code = 128 + int(s.Signal())
			// The context may have ended while the command was waited for.
			if cause := context.Cause(p.ctx); cause != nil && err == nil {
				err = cause
			}
		}
	}
	return exit, err
}

// Abandon kills the command and waits for it. It may follow Close.
func (p *Process) Abandon() {
	p.kill()
	p.closePipes()
	_, _ = p.wait()
}

// wait reaps the command. The group is killed before its number may be used again:
// as long as its leader is not reaped, no other process gets it.
func (p *Process) wait() (*os.ProcessState, error) {
	if p.process == nil {
		return nil, nil
	}
	if err := waitExit(p.process.Pid); err == nil {
		p.kill() // what the command has left behind
	}
	p.unwatch()
	p.group.Lock()
	p.group.id = 0
	p.group.Unlock()
	state, err := p.process.Wait()
	p.process = nil
	return state, err
}

// kill ends the process group. Any goroutine may call it.
func (p *Process) kill() {
	p.group.Lock()
	defer p.group.Unlock()
	if p.group.id > 0 {
		_ = unix.Kill(-p.group.id, unix.SIGKILL)
	}
}

// serve waits for up to a fifth of a second until pipes are ready, and moves their bytes. It
// returns how many were.
func (p *Process) serve() int {
	var room [3]unix.PollFd
	polled := room[:0]
	if p.written < len(p.pending) && p.in >= 0 {
		polled = append(polled, unix.PollFd{Fd: int32(p.in), Events: unix.POLLOUT})
	}
	if p.out >= 0 {
		polled = append(polled, unix.PollFd{Fd: int32(p.out), Events: unix.POLLIN})
	}
	if p.err >= 0 {
		polled = append(polled, unix.PollFd{Fd: int32(p.err), Events: unix.POLLIN})
	}
	// A kill ends the command, and with it the wait. A process that has left the group may
	// hold a pipe, so the wait ends with the context too.
	const waitMillis = 200
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
			p.put()
		case p.out:
			p.take()
		case p.err:
			p.hear()
		}
	}
	if n > 0 && p.c.Alive != nil {
		p.c.Alive()
	}
	return n
}

// put writes what the pipe takes.
func (p *Process) put() {
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

// take reads output and hands it on.
func (p *Process) take() {
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
	if n == 0 {
		p.endOutput()
		return
	}
	taken, err := p.c.Output(p.got, false)
	if err != nil {
		p.fail(err)
		return
	}
	p.got = p.got[:copy(p.got, p.got[taken:])]
}

// endOutput hands on the last record, which may lack its end.
func (p *Process) endOutput() {
	if p.out < 0 {
		return
	}
	closeEnd(&p.out)
	taken, err := p.c.Output(p.got, true)
	if err != nil {
		p.fail(err)
		return
	}
	p.got = p.got[:copy(p.got, p.got[taken:])]
}

// grow makes room for a record that is longer than the buffer.
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

// hear reads standard error.
func (p *Process) hear() {
	if p.noise == nil {
		p.noise = make([]byte, 8<<10)
	}
	n, err := unix.Read(p.err, p.noise)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
	case err != nil || n == 0:
		closeEnd(&p.err)
	case p.c.Error != nil:
		p.c.Error(p.noise[:n])
	}
}

func (p *Process) fail(err error) {
	if p.failed == nil {
		p.failed = err
	}
}

// closePipes closes our ends.
func (p *Process) closePipes() {
	closeEnd(&p.in)
	closeEnd(&p.out)
	closeEnd(&p.err)
}

func closeEnd(fd *int) {
	if *fd >= 0 {
		_ = unix.Close(*fd)
		*fd = -1
	}
}
