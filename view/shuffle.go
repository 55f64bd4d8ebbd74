package view

import (
	"time"

	"mrlocal/trace"
)

// Matrix shows how much of the outputs of a job's maps its reduces have copied. A row is for one
// map or several consecutive ones, and a column for one reduce or several consecutive ones.
type Matrix struct {
	Job           int32
	Maps, Reduces int32
	Rows, Columns int
	Measured      bool   // true: the run recorded its copies; false: Shuffle has estimated them
	Cells         []Cell // row by row
}

// Cell is a cell of a Matrix: some maps and some reduces.
type Cell struct {
	Done  float64 // the share of the pairs of map and reduce that are copied, from 0 to 1
	Bytes int64   // bytes that are copied
}

// Shuffle returns the matrix of a job at a time, with at most most rows and most columns. job is
// an index into Jobs. A reduce counts by its attempt that has finished it, or else by the one that
// started last of those that run.
//
// If the run has no events of copies, Shuffle estimates them. It assumes that every started reduce
// has copied the output of every map that has succeeded. All reduces get equal parts of an output.
func (m *Model) Shuffle(job int32, at time.Duration, most int) *Matrix {
	j := &m.Jobs[job]
	x := &Matrix{Job: job, Maps: j.Maps, Reduces: j.Reduces}
	// A job may have 100,000 maps, but a picture has only some hundred pixels.
	x.Rows, x.Columns = min(int(j.Maps), max(1, most)), min(int(j.Reduces), max(1, most))
	if x.Rows < 1 || x.Columns < 1 {
		x.Rows, x.Columns = 0, 0
		return x
	}
	x.Cells = make([]Cell, x.Rows*x.Columns)
	reduces := m.reducesAt(job, at)
	if m.measured(x, reduces, at) {
		x.Measured = true
	} else {
		m.estimated(x, reduces, at)
	}
	for row := range x.Rows {
		for column := range x.Columns {
			c := &x.Cells[row*x.Columns+column]
			c.Done = min(1, c.Done/float64(width(row, x.Rows, x.Maps)*width(column, x.Columns, x.Reduces)))
		}
	}
	return x
}

// place returns the row or column of number i, if n rows or columns share total numbers.
func place(i int32, n int, total int32) int { return int(int64(i) * int64(n) / int64(total)) }

// width returns how many of total numbers row or column i of n has. It is the inverse of place.
func width(i, n int, total int32) int64 {
	first := func(i int) int64 { return (int64(i)*int64(total) + int64(n) - 1) / int64(n) }
	return first(i+1) - first(i)
}

// reducesAt returns, for each reduce task of a job, the bar of the attempt that counts at a time; None:
// no attempt runs or has finished the task. The list ends with the last task that has a bar, because a
// hostile file may name billions of reduces.
func (m *Model) reducesAt(job int32, at time.Duration) (all []int32) {
	for i := range m.Bars {
		b := &m.Bars[i]
		if b.Job != job || b.Kind != trace.Reduce || b.Task >= m.Jobs[job].Reduces {
			continue
		}
		for int(b.Task) >= len(all) {
			all = append(all, None)
		}
		ended := b.To >= 0 && b.To <= at
		if counts := &all[b.Task]; b.From <= at && (b.Done || !ended) && (*counts < 0 || !m.Bars[*counts].Done) {
			*counts = int32(i)
		}
	}
	return all
}

// measured adds the recorded copies up to a time to a matrix. It reports whether the job has any
// recorded copies, also later ones. reduces is the result of reducesAt.
func (m *Model) measured(x *Matrix, reduces []int32, at time.Duration) bool {
	any := false
	for _, f := range m.Fetches {
		b := &m.Bars[f.Bar]
		if b.Job != x.Job || b.Kind != trace.Reduce || b.Task >= x.Reduces {
			continue
		}
		any = true
		// Each attempt of the reduce has to copy everything.
		if f.At > at || reduces[b.Task] != f.Bar {
			continue
		}
		x.copied(b.Task, f)
	}
	return any
}

// copied adds a copy to the cells of its maps. If these maps are not known, each row gets its part.
func (x *Matrix) copied(reduce int32, f Fetch) {
	column := place(reduce, x.Columns, x.Reduces)
	if f.Map < 0 {
		for row := range x.Rows {
			c, part := &x.Cells[row*x.Columns+column], float64(width(row, x.Rows, x.Maps))/float64(x.Maps)
			c.Done += float64(f.Maps) * part
			c.Bytes += int64(float64(f.Bytes) * part)
		}
		return
	}
	for i := f.Map; i < f.Map+f.Maps && i < x.Maps; i++ {
		c := &x.Cells[place(i, x.Rows, x.Maps)*x.Columns+column]
		c.Done++
		c.Bytes += f.Bytes / int64(f.Maps)
	}
}

// estimated adds an estimate of the copies up to a time to a matrix, as Shuffle describes it.
// reduces is the result of reducesAt.
func (m *Model) estimated(x *Matrix, reduces []int32, at time.Duration) {
	copying := make([]int32, x.Columns) // reduces that have started, by column
	for task, bar := range reduces {
		if bar >= 0 {
			copying[place(int32(task), x.Columns, x.Reduces)]++
		}
	}
	seen := map[int32]bool{}
	for i := range m.Ends {
		e := &m.Ends[i]
		if e.At > at {
			break
		}
		b := &m.Bars[e.Bar]
		if b.Job != x.Job || b.Kind != trace.Map || e.How != trace.EndOK || b.Task >= x.Maps || seen[b.Task] {
			continue
		}
		seen[b.Task] = true
		row := place(b.Task, x.Rows, x.Maps)
		for column, n := range copying {
			c := &x.Cells[row*x.Columns+column]
			c.Done += float64(n)
			c.Bytes += b.OutBytes / int64(x.Reduces) * int64(n)
		}
	}
}
