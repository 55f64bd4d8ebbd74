// Package machine tells what the machine and this process have: memory,
// descriptors, processor time, and the memory they used at most. It keeps
// nothing; package engine asks.
package machine
