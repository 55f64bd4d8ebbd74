package stream

import (
	"bytes"
	"io"

	"mrlocal/jobs"
)

// DescribeWord is the argument of Main that prints a Description.
const DescribeWord = "describe"

// Description describes the chain of another program for package submit.
type Description struct {
	Jobs []DescribedJob `json:"jobs"` // of the chain, in order
}

// DescribedJob describes a job of a chain. Name, Reduces and Ordered are those of jobs.Job.
type DescribedJob struct {
	Name        string `json:"name"`
	Reduces     int    `json:"reduces,omitempty"`
	Ordered     bool   `json:"ordered,omitempty"`
	Partitioned bool   `json:"partitioned,omitempty"` // it has a Partition
	MapOnly     bool   `json:"map_only,omitempty"`    // it has no NewReducer
	Begins      bool   `json:"begins,omitempty"`      // it has Begin, which gets the number of input files
	Refused     string `json:"refused,omitempty"`     // why it cannot run under Hadoop Streaming; "": it can
}

// describe returns the Description of a chain. If the first job has Begin, it is
// described as it is for one input file.
func describe(chain jobs.Chain) Description {
	d := Description{}
	for i := range chain {
		j := &chain[i]
		c, err := newChild(chain, Options{Step: i + 1})
		if err == nil {
			j, err = &c.job, Check(chain)
		}
		o := DescribedJob{Name: j.Name, Reduces: j.Reduces, Ordered: j.Ordered, Partitioned: j.Partition != nil, MapOnly: j.NewReducer == nil, Begins: i == 0 && chain[0].Begin != nil}
		if err != nil {
			o.Refused = err.Error()
		}
		d.Jobs = append(d.Jobs, o)
	}
	return d
}

// EachKey reads the output of a map of a job with one reduce. It calls do with the key of each
// record, which do borrows during the call. It fails if a line is not a record.
func EachKey(wire io.Reader, do func(key []byte)) error {
	lines := scanLines(wire)
	var key []byte
	for lines.Scan() {
		whole, _, _ := bytes.Cut(lines.Bytes(), []byte{'\t'})
		var err error
		if key, err = appendUnescaped(key[:0], keyOf(whole)); err != nil {
			return err
		}
		do(key)
	}
	return lines.Err()
}
