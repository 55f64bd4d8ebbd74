package count

import (
	"bytes"
	"io"
	"math"

	"mrlocal/internal/disk"
)

// MostlyDifferent estimates from a sample of a file whether more than half of all its lines differ from
// each other (docs/adr/0021). It returns false for a small sample, and for a file that is not regular or cannot be
// read.
func (o *Options) MostlyDifferent(path string) bool {
	info, err := disk.Stat(path)
	if err != nil || !info.Mode().IsRegular() { // a stream can be read only once
		return false
	}
	f, err := disk.OpenInput(path)
	if err != nil { // the run reports the error
		return false
	}
	defer f.Close() // nothing is written, so no error can be lost
	delim := byte('\n')
	if o.ZeroEnded {
		delim = 0
	}
	return mostlyDifferent(f, info.Size(), delim)
}

// mostlyDifferent does the work of MostlyDifferent. delim ends lines.
func mostlyDifferent(f io.ReaderAt, fileBytes int64, delim byte) bool {
	const (
		places     = 8         // at which the sample is read
		placeBytes = 128 << 10 // that are read at each place
		leastLines = 1000      // of a sample that is large enough
	)
	times := map[string]int{}
	var lines, bytesRead int
	buffer := make([]byte, placeBytes)
	for i := range int64(places) {
		// The fractions of multiples of the golden ratio are spread evenly over the file. They match
		// no period of lines that repeat.
		_, part := math.Modf(float64(i) * math.Phi)
		n, _ := f.ReadAt(buffer, int64(part*float64(max(0, fileBytes-placeBytes))))
		parts := bytes.Split(buffer[:n], []byte{delim})
		bytesRead += n
		// The place begins and ends within a line, so the first and the last part are left out.
		for _, line := range parts[min(1, len(parts)):max(1, len(parts)-1)] {
			times[string(line)]++
			lines++
		}
	}
	if lines <= leastLines {
		return false
	}
	// In most texts a few lines, such as empty ones, are far more frequent than all others.
	// differentLines assumes equally frequent lines, so lines with more than rareTimes are left out.
	const rareTimes = 2
	rare, rareDifferent := 0, 0
	for _, n := range times {
		if n <= rareTimes {
			rare += n
			rareDifferent++
		}
	}
	// all estimates the number of lines in the file. Its rare lines have the same share as those of
	// the sample.
	all := float64(lines) * float64(fileBytes) / float64(bytesRead)
	return differentLines(float64(rare), float64(rareDifferent), all*float64(rare)/float64(lines)) > all/2
}

// differentLines estimates the number of different lines in a file of all lines. sample is the number
// of lines in a sample, and inSample how many of them are different. If a file has d different lines,
// each equally frequent, a sample is expected to have d × (1 - e^(-sample/d)) different ones. The
// function solves this equation for d by bisection.
func differentLines(sample, inSample, all float64) float64 {
	least, most := inSample, all
	// 20 halvings leave a millionth of the range.
	for range 20 {
		if d := (least + most) / 2; d*-math.Expm1(-sample/d) < inSample {
			least = d
		} else {
			most = d
		}
	}
	return most
}
