package input

import (
	"bytes"
	"fmt"
	"io"

	"mrlocal/internal/disk"
	"mrlocal/internal/membudget"
)

// gather collects one record of unknown length. The first chunks stay in
// memory. Beyond Options.GatherBytes, or if there is no more memory, the whole
// record goes to a temporary file, if the options allow one.
type gather struct {
	s           *sequential
	h           *hold
	chunks      []*membudget.Chunk // all are full except the last one
	temp        *disk.TempFile     // if not nil, chunks holds one buffer
	lengthBytes int64              // of the record so far
}

// collect reads to the end of the record. What is read behind it goes to
// s.carry.
func (g *gather) collect() error {
	for ended := false; !ended; {
		buf, err := g.room()
		if err != nil {
			return err
		}
		// read needs the length so far for the offset in its messages.
		n, err := g.s.read(buf, int(g.lengthBytes))
		if err != nil {
			return err
		}
		// The record ends with its delimiter, or with the file.
		i := bytes.IndexByte(buf[:n], g.s.plan.o.Delim)
		if ended = i >= 0 || g.s.eof; i >= 0 {
			// These bytes belong to the next record. They are copied, because the chunk is used
			// again.
			g.s.carry = append(g.s.carry[:0], buf[i+1:n]...)
			n = i + 1
		}
		g.lengthBytes += int64(n)
		if g.temp == nil {
			continue
		}
		if _, err := g.temp.Write(buf[:n]); err != nil {
			return g.explain(err)
		}
	}
	return nil
}

// room returns the buffer for the next part of the record.
func (g *gather) room() ([]byte, error) {
	if g.temp != nil {
		return g.chunks[0].Data[:chunkBytes], nil
	}
	o := &g.s.plan.o
	err := error(nil)
	// Without a temporary file, memory is the only way, whatever GatherBytes says.
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

// spill writes the record so far to a temporary file, and keeps one chunk as
// buffer.
func (g *gather) spill() (err error) {
	if g.temp, err = g.s.plan.o.CreateTemp(); err != nil {
		return g.explain(err)
	}
	// All chunks but the last are full, and lengthBytes says how full that is.
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

// join puts the record together in the held chunk.
func (g *gather) join() ([]byte, error) {
	data, err := g.whole()
	if err != nil && g.temp == nil && g.s.plan.o.CreateTemp != nil {
		// The chunks took the memory that the record needs.
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

// readBack reads the record from the temporary file.
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

// whole returns memory for the record. If the record is in a temporary file,
// even the buffer is given back first.
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

// close frees the chunks and removes the temporary file, if the record has needed one.
func (g *gather) close() error {
	g.free()
	if g.temp == nil {
		return nil
	}
	return g.temp.Remove()
}
