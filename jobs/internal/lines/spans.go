package lines

import (
	"bytes"
	"fmt"

	"mrlocal/jobs"
)

// AppendSpans appends the spans of the lines of data, without their delimiter. The last line
// may lack it. data must have less than 4 GiB.
//
// hot: one iteration for each line; IndexByte does the search.
func AppendSpans(dst []jobs.Span, data []byte, delim byte) []jobs.Span {
	for off := 0; off < len(data); {
		n := bytes.IndexByte(data[off:], delim)
		if n < 0 {
			n = len(data) - off
		}
		dst = append(dst, jobs.Span{Off: uint32(off), Len: uint32(n)})
		off += n + 1
	}
	return dst
}

// Take passes a block with the spans of its records to out, which must be a jobs.Taker. job is the name of the job,
// for messages.
func Take(job string, b jobs.Block, records []jobs.Span, out jobs.Emitter) error {
	taker, ok := out.(jobs.Taker)
	if !ok {
		return fmt.Errorf("%s: the Emitter cannot take blocks (jobs.Taker)", job)
	}
	if len(records) > 0 {
		taker.Take(b, records)
	}
	return nil
}
