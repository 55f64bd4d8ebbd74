package input

import (
	"bytes"
	"fmt"
	"io"

	"mrlocal/internal/disk"
	"mrlocal/internal/membudget"
)

// gather collects one record of unknown length. Up to Options.GatherBytes it stays in
// memory. If it is longer, or if there is no more memory, the whole record goes to a
// temporary file. Without Options.CreateTemp it stays in memory, or fails.
type gather struct {
	s           *sequential
	h           *hold
	chunks      []*membudget.Chunk // all are full except the last one
	temp        *disk.TempFile     // if not nil, chunks holds one buffer
	lengthBytes int64              // of the record so far
}

// collect reads to the end of the record. It copies the bytes read behind the record to
// s.carry.
func (g *gather) collect() error {
	for ended := false; !ended; {
		buf, err := g.room()
		if err != nil {
			return err
		}
		n, err := g.s.read(buf, int(g.lengthBytes))
		if err != nil {
			return err
		}
		// The record ends with its delimiter, or with the file.
		i := bytes.IndexByte(buf[:n], g.s.plan.o.Delim)
		if ended = i >= 0 || g.s.eof; i >= 0 {
			g.s.carry = append(g.s.carry[:0], buf[i+1:n]...)
			n = i + 1
		}
		g.lengthBytes += int64(n)
		if g.temp != nil {
			if _, err := g.temp.Write(buf[:n]); err != nil {
				return g.explain(err)
			}
		}
	}
	return nil
}

// room returns the buffer for the next part of the record.
func (g *gather) room() (_ []byte, err error) {
	if g.temp != nil {
		return g.chunks[0].Data[:chunkBytes], nil
	}
	// A read may end before its buffer is full, because the writer of a pipe pauses.
	if used := g.lengthBytes % chunkBytes; used > 0 {
		return g.chunks[len(g.chunks)-1].Data[used:chunkBytes], nil
	}
	o := &g.s.plan.o
	// If there can be no temporary file, the record stays in memory beyond GatherBytes.
	if o.CreateTemp == nil || g.lengthBytes+chunkBytes <= o.GatherBytes {
		var c *membudget.Chunk
		if c, err = g.h.mem.Get(chunkBytes); err == nil {
			g.chunks = append(g.chunks, c)
			return c.Data[:chunkBytes], nil
		}
	}
	if o.CreateTemp == nil {
		return nil, roomError(g.s.plan.Files[g.s.file].Path, g.s.off, g.lengthBytes, err)
	}
	if err := g.spill(); err != nil {
		return nil, err
	}
	return g.chunks[0].Data[:chunkBytes], nil
}

// spill moves the record so far to a temporary file, and keeps one chunk as buffer.
func (g *gather) spill() (err error) {
	if g.temp, err = g.s.plan.o.CreateTemp(); err != nil {
		return g.explain(err)
	}
	// All chunks but the last are full. The last one has the rest of lengthBytes.
	left := g.lengthBytes
	for _, c := range g.chunks {
		n := min(left, chunkBytes)
		if _, err := g.temp.Write(c.Data[:n]); err != nil {
			return g.explain(err)
		}
		left -= n
	}
	for _, c := range g.chunks[1:] {
		g.h.mem.Put(c)
	}
	g.chunks = g.chunks[:1]
	return nil
}

// join puts the record together in the chunk of h, and returns it.
func (g *gather) join() ([]byte, error) {
	data, err := g.whole()
	if err != nil && g.temp == nil && g.s.plan.o.CreateTemp != nil {
		// The chunks take the memory that the record needs, so they go to a file first.
		if err := g.spill(); err != nil {
			return nil, err
		}
		data, err = g.whole()
	}
	if err != nil {
		return nil, roomError(g.s.plan.Files[g.s.file].Path, g.s.off, g.lengthBytes, err)
	}
	if g.temp != nil {
		return data, g.readBack(data)
	}
	at := 0
	for _, c := range g.chunks {
		at += copy(data[at:], c.Data[:chunkBytes])
	}
	return data, nil
}

// readBack reads the record from the temporary file into data.
func (g *gather) readBack(data []byte) error {
	f, err := g.temp.Open()
	if err != nil {
		return g.explain(err)
	}
	defer f.Close()
	if _, err := io.ReadFull(f, data); err != nil {
		return g.explain(err)
	}
	return nil
}

// whole returns a buffer of the length of the record, in the chunk of h. If the record is in a
// temporary file, it first gives the chunks back.
func (g *gather) whole() ([]byte, error) {
	if g.temp != nil {
		g.free()
	}
	buf, err := g.h.take(int(g.lengthBytes))
	if err != nil {
		return nil, err
	}
	return buf[:g.lengthBytes:g.lengthBytes], nil
}

// explain adds the place of the record to an error of the temporary file.
func (g *gather) explain(err error) error {
	return fmt.Errorf("%s: record at offset %d, collected in a temporary file: %w", g.s.path(), g.s.off, err)
}

// free gives the chunks back to the caller's Memory.
func (g *gather) free() {
	for _, c := range g.chunks {
		g.h.mem.Put(c)
	}
	g.chunks = nil
}

// close frees the chunks and removes the temporary file, if there is one.
func (g *gather) close() error {
	g.free()
	if g.temp == nil {
		return nil
	}
	return g.temp.Remove()
}
