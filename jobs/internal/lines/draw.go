package lines

import (
	"bytes"
	"hash/crc32"
	"slices"
	"strconv"

	"mrlocal/jobs"
)

// pointDraw draws Most different lines: those with the least CRC-32C, and of lines with equal
// sums those that sort first. So a draw does not depend on how the input is divided, and
// several draws can be drawn from again. It copies the lines that it keeps.
type pointDraw struct {
	Most  int
	Lines [][]byte // in the order of their CRC-32C, then of their bytes

	sums []uint32 // CRC-32C of each of Lines
}

// Add adds a line, which is borrowed, if it belongs to the draw so far. It ignores empty lines.
func (d *pointDraw) Add(line []byte) {
	sum := crc32.Checksum(line, crc32.MakeTable(crc32.Castagnoli))
	if len(line) == 0 || len(d.Lines) >= d.Most && sum > d.sums[d.Most-1] {
		return
	}
	at, _ := slices.BinarySearch(d.sums, sum)
	for ; at < len(d.sums) && d.sums[at] == sum; at++ {
		if order := bytes.Compare(d.Lines[at], line); order == 0 {
			return
		} else if order > 0 {
			break
		}
	}
	d.Lines, d.sums = slices.Insert(d.Lines, at, bytes.Clone(line)), slices.Insert(d.sums, at, sum)
	n := min(len(d.Lines), d.Most)
	d.Lines, d.sums = d.Lines[:n], d.sums[:n]
}

// DrawPoints returns a job that draws lines of its input, most of them at most, and numbers them:
// "0 TAB line" and so on.
func DrawPoints(name string, most int) jobs.Job {
	return jobs.Job{
		Name: name, Reduces: 1, BuiltIn: true,
		NewMapper:  func() jobs.Mapper { return &drawMapper{pointDraw{Most: most}} },
		NewReducer: func() jobs.Reducer { return drawReducer{most} },
	}
}

// drawMapper draws from all blocks of an attempt.
type drawMapper struct{ pointDraw }

// Map adds the lines of a block to the draw.
func (m *drawMapper) Map(b jobs.Block, _ jobs.Emitter) error {
	for line := range b.Lines() {
		m.Add(line)
	}
	return nil
}

// Flush emits the lines of the draw, all with one key.
func (m *drawMapper) Flush(out jobs.Emitter) error {
	for _, line := range m.Lines {
		out.Emit(nil, line)
	}
	return nil
}

// drawReducer draws from the draws of all maps. The least sums of all lines are among the least
// sums of the maps.
type drawReducer struct{ most int }

// Reduce draws from the lines of all maps, and emits the result.
func (r drawReducer) Reduce(_ []byte, vs *jobs.Values, out jobs.Emitter) error {
	d := pointDraw{Most: r.most}
	for vs.Next() {
		d.Add(vs.Value())
	}
	for i, line := range d.Lines {
		out.Emit(strconv.AppendInt(nil, int64(i), 10), line)
	}
	return nil
}
