package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mrlocal/input"
)

// Blocks of a file are checked at the same time. The message must have the number and the text of
// the first line that is out of order, within a block or between two blocks.
func TestCheckFindsTheFirstDisorder(t *testing.T) {
	for seed := range 40 {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		var lines []string
		for size := 0; size < 1_200_000; {
			line := strings.Repeat("x", r.IntN(200)) + fmt.Sprint(r.IntN(1000))
			if r.IntN(2000) == 0 {
				line += strings.Repeat("long", 100_000) // more than a block
			}
			lines, size = append(lines, line), size+len(line)+1
		}
		slices.Sort(lines)
		flag := "-c"
		if seed%2 == 1 {
			flag, lines = "-cu", slices.Compact(lines)
		}
		switch seed % 5 {
		case 0: // the file stays in order
		case 1, 2: // a block begins with a line that is too small
			i := beginOfABlock(t, lines, r)
			lines[i] = strings.Repeat("!", len(lines[i]))
		default:
			for range 3 {
				i, j := r.IntN(len(lines)), r.IntN(len(lines))
				lines[i], lines[j] = lines[j], lines[i]
			}
		}
		want, code := "", 0
		for i := 1; i < len(lines); i++ {
			if lines[i] < lines[i-1] || seed%2 == 1 && lines[i] == lines[i-1] {
				want, code = fmt.Sprintf("mrlocal: sort: -:%d: disorder: %s\n", i+1, lines[i]), 1
				break
			}
		}
		text := strings.Join(lines, "\n")
		if seed%3 > 0 {
			text += "\n"
		}
		for _, flags := range [][]string{{flag}, {flag, "-k1,1"}} {
			if _, errs, got := call(t, "sort", text, flags...); beginning(errs) != beginning(want) || got != code {
				t.Fatalf("seed %d, %v: exit %d %q, want %d %q", seed, flags, got, beginning(errs), code, beginning(want))
			}
		}
	}
}

// beginOfABlock returns the number, from 0, of a line at the beginning of a block that is not the
// first one.
func beginOfABlock(t *testing.T, lines []string, r *rand.Rand) int {
	cut := input.Cutter{R: strings.NewReader(strings.Join(lines, "\n")), LastEnd: input.LastEnd('\n'), Bytes: checkedBytes}
	var begins []int
	for at := 0; ; {
		block, err := cut.Next(nil)
		at += bytes.Count(block, []byte("\n"))
		if err == io.EOF {
			return begins[r.IntN(len(begins))]
		}
		if err != nil {
			t.Fatal(err)
		}
		begins = append(begins, at)
	}
}

// beginning returns the part of a line that appears in a message, which cuts long lines.
func beginning(message string) string { return message[:min(len(message), 300)] }
