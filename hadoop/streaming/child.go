package streaming

import "errors"

// This file runs one command as a mapper, combiner or reducer. It writes to the
// standard input of the command, and reads its standard output and standard error, all
// on the thread of the caller.
//
//	Start ──► Write, Write, … ──► Close ──► exit code
//
// One poll(2) serves the three pipes. So a command may write before it reads, or never
// read, without a deadlock. The command is forked on the caller's thread, and therefore
// runs on the core to which that thread is bound.
//
// The command leads a process group of its own. The whole group is killed when the
// context ends. Processes that the command leaves behind are killed when it has ended. On
// Linux the command also dies with this process, even if this process is killed.
//
// Memory: 128 KiB for the input, 128 KiB for the output, and 8 KiB for standard error.
// The output buffer doubles for a longer record, after a call of Config.Charge.
//
// Package streaming makes mappers and reducers from commands.

// PipeBytes is the length of the buffers for input and output. Hadoop's are as long
// (PipeMapRed.BUFFER_SIZE).
const PipeBytes = 128 << 10

// Config says what to run. Args and Output are required. The functions are called during
// Write and Close, on the goroutine that calls these.
type Config struct {
	Args []string // the program, as a path, and its arguments
	Dir  string   // working directory; "": that of this process
	Env  []string // NAME=VALUE; nil: that of this process

	// Output gets the output that it has not taken yet. It returns the number of bytes
	// that it takes from the start of p, which it borrows during the call. The rest comes
	// again, with more behind it. ended says that nothing follows p. An error kills the
	// command.
	Output func(p []byte, ended bool) (n int, err error)
	Error  func(p []byte)          // gets any part of standard error, borrowed; nil: it is dropped
	Alive  func()                  // is called when bytes have moved; nil: not called
	Charge func(bytes int64) error // asks for bytes of memory beyond PipeBytes; nil: all are granted
}

// ErrClosed is the error of Write when the command has closed its standard input.
var ErrClosed = errors.New("the command has closed its standard input")
