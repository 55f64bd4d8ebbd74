// Package child runs one command as a mapper, combiner or reducer: it writes to its
// standard input, and reads its standard output and standard error, all on the
// thread of the caller.
//
//	Start ──► Write, Write, … ──► Close ──► Exit
//
// One poll serves the three pipes, so a command may write before it reads, or
// never read, and nothing waits for ever. The command is forked on the caller's
// thread and therefore runs on the core to which that thread is bound. It leads a
// process group of its own. When the context ends, the whole group is killed; when
// the command has ended, so are the processes that it left behind. On Linux a command
// also dies with this process, even one that is killed.
//
// Memory: 128 KiB for the input, and 128 KiB or the longest record for the output.
// Config.Charge is asked before a buffer is made longer. Output is borrowed by
// Config.Output during the call.
//
// Neighbours: package streaming makes mappers and reducers of it.
package child

import (
	"errors"
	"fmt"
)

// BufferBytes is the length of each buffer. Hadoop's are as long
// (PipeMapRed.BUFFER_SIZE).
const BufferBytes = 128 << 10

// Config says what to run. Args and Output are required.
type Config struct {
	Args []string // the program, as a path, and its arguments
	Dir  string   // working directory
	Env  []string // NAME=VALUE

	// Output gets what the command has written and was not taken yet. It returns how
	// many bytes it took. ended says that nothing more follows. On an error the
	// command is killed.
	Output func(p []byte, ended bool) (n int, err error)
	Error  func(p []byte)          // gets standard error, in pieces of any length; nil: it is dropped
	Alive  func()                  // is called when bytes have moved; nil: nobody wants to know
	Charge func(bytes int64) error // asks for memory beyond BufferBytes; nil: granted
}

// ErrClosed says that the command has closed its standard input, and bytes were
// left to write.
var ErrClosed = errors.New("the command has closed its standard input")

// Exit is how a command has ended.
type Exit struct {
	Code int // 128 plus the number of the signal if one has killed it, as Java has it
	// ClosedEarly is set if the command closed its standard input before the last
	// bytes were written.
	ClosedEarly bool
}

// Failed returns the error of an exit code other than 0.
func (e Exit) Failed() error {
	if e.Code == 0 {
		return nil
	}
	return fmt.Errorf("subprocess failed with code %d", e.Code)
}
