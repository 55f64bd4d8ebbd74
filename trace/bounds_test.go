package trace

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// again is a text that repeats a part many times, as a compressed file can in few bytes.
func again(start, part string, bytes int, end string) io.Reader {
	block := strings.Repeat(part, 1+64<<10/len(part))
	readers := []io.Reader{strings.NewReader(start)}
	for n := 0; n < bytes; n += len(block) {
		readers = append(readers, strings.NewReader(block))
	}
	return io.MultiReader(append(readers, strings.NewReader(end))...)
}

// TestABombTakesBoundedMemory reads event files of gigabytes that are small when they are compressed,
// and files with numbers that readers would use as lengths. Each ends at a bound, with one line.
func TestABombTakesBoundedMemory(t *testing.T) {
	start := fmt.Sprintf(`{"schema":%d,"kind":"mrlocal-events","policy":"fifo","seed":1,"config":{},"slots":[`, schema)
	header := start + `{"id":0,"tracker":0,"core":-1,"home":"map"}]}` + "\n"
	submit := func(job, maps, reduces int, name string) string {
		return fmt.Sprintf(`{"seq":1,"at":0,"op":"submit","job":%d,"sealed":true,"unplaced":false,"single":false,"maps":%d,"reduces":%d,"ready":0,"priority":2,"weight":1,"deadline":0,"name":"%s","pool":"","user":""}`+"\n", job, maps, reduces, name)
	}
	const huge = 1 << 30
	var before, after runtime.MemStats
	for name, c := range map[string]struct {
		file io.Reader
		want string
	}{
		"a header without end":  {again(`{"schema":`, "1", huge, ""), "line 1: longer than 64 MiB"},
		"a header of slots":     {again(start, "{},", 60<<20, "{}]}\n"), "line 1: more than 629145 slots, pools and users"},
		"a header of nulls":     {again(start, "null,", 60<<20, "null]}\n"), "line 1: more than 629145 slots, pools and users"},
		"a far tracker":         {strings.NewReader(start + `{"id":0,"tracker":2147483647,"core":-1,"home":"map"}]}` + "\n"), "line 1: slot 0 is on tracker 2147483647, of at most 1"},
		"a line without end":    {again(header+`{"op":"`, "x", huge, ""), "line 2: longer than 16 MiB"},
		"a line of fields":      {again(header+"{", `"a":1,`, 8<<20, `"op":"usage"}`+"\n\n"), "line 2: more than 1000 fields"},
		"a line again":          {again(header, `{"seq":1,"at":0,"op":"usage","cpu_ns":1,"memory_bytes":1,"temp_bytes":1}`+"\n", huge, ""), "line 3: usage has the number 1, and an event before it 1"},
		"a job of many maps":    {strings.NewReader(header + submit(0, 2_000_000_000, 1, "J")), "line 2: job 0 has 2000000000 maps and 1 reduces; an event file has at most 8388608 tasks"},
		"a job of many reduces": {strings.NewReader(header + submit(0, 0, 1<<23, "J") + strings.Replace(submit(1, 1, 0, "J"), `"seq":1`, `"seq":2`, 1)), "line 3: with job 1 there are more than 8388608 tasks"},
		"the largest slot":      {strings.NewReader(header + `{"seq":1,"at":0,"op":"open","slot":2147483647,"rule":"none"}` + "\n"), "line 2: open has the slot 2147483647, and the header 1 slots"},
		"a negative slot":       {strings.NewReader(header + `{"seq":1,"at":0,"op":"open","slot":-2,"rule":"none"}` + "\n"), "line 2: open has a negative number: task 0, n 0, slot -2"},
	} {
		runtime.ReadMemStats(&before)
		d, err := NewDecoder(c.file)
		for err == nil {
			_, err = d.Next()
		}
		runtime.ReadMemStats(&after)
		if text := err.Error(); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
		// All that was allocated, also what is garbage by now.
		if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; taken > 600 {
			t.Errorf("%s: %d MiB", name, taken)
		}
	}
}

// TestNamesHaveABound has jobs with long names, of which readers keep each.
func TestNamesHaveABound(t *testing.T) {
	long := strings.Repeat("x", 8<<20)
	var lines []io.Reader
	lines = append(lines, strings.NewReader(fmt.Sprintf(`{"schema":%d,"kind":"mrlocal-events","policy":"fifo","seed":1,"config":{},"slots":[{"id":0,"tracker":0,"core":-1,"home":"map"}]}`+"\n", schema)))
	for i := range 50 {
		lines = append(lines, strings.NewReader(fmt.Sprintf(`{"seq":%d,"at":0,"op":"status","job":0,"kind":"map","task":0,"n":0,"slot":0,"text":"`, i)), strings.NewReader(long), strings.NewReader("\"}\n"))
	}
	d, err := NewDecoder(io.MultiReader(lines...))
	d.Share(256 << 20)
	for err == nil {
		_, err = d.Next()
	}
	if want := "line 33: a reader would need more than 256 MiB for this file"; err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestAllThatAReaderKeepsHasABound has files of many small things, of which readers keep each.
func TestAllThatAReaderKeepsHasABound(t *testing.T) {
	header := fmt.Sprintf(`{"schema":%d,"kind":"mrlocal-events","policy":"fifo","seed":1,"config":{},"slots":[{"id":0,"tracker":0,"core":-1,"home":"map"}]}`+"\n", schema)
	const most, attempt = 1 << 20, `"job":0,"kind":"map","task":0,"n":0,"slot":0`
	for name, c := range map[string]struct {
		line string // after its number
		each int    // bytes
	}{
		"jobs":     {`"op":"submit","job":0,"sealed":true,"unplaced":false,"single":false,"maps":0,"reduces":0,"ready":0,"priority":2,"weight":1,"deadline":0,"name":"J","pool":"P","user":""}`, JobBytes + 3*textBytes + 2},
		"attempts": {`"op":"start",` + attempt + `,"rule":"fifo","lent":false,"speculative":false,"locality":"any"}`, attemptBytes},
		"phases":   {`"op":"phase",` + attempt + `,"phase":"reduce"}`, phaseBytes},
		"slots":    {`"op":"open","slot":0,"rule":"fifo"}`, decisionBytes},
		"samples":  {`"op":"usage","cpu_ns":1,"memory_bytes":1,"temp_bytes":1}`, detailBytes},
		"statuses": {`"op":"status",` + attempt + `,"text":"abc"}`, detailBytes + textBytes + 3},
	} {
		var file strings.Builder
		file.WriteString(header)
		for i := range most/c.each + 2 {
			fmt.Fprintf(&file, `{"seq":%d,"at":0,%s`+"\n", i, c.line)
		}
		d, err := NewDecoder(strings.NewReader(file.String()))
		d.Share(most)
		for err == nil {
			_, err = d.Next()
		}
		// The header counts as three of its slots, and a rule counts too.
		if least := (most - 3*slotBytes - 5*textBytes) / c.each; !strings.HasSuffix(err.Error(), "a reader would need more than 1 MiB for this file") || d.Line() < least || d.Line() > most/c.each+2 {
			t.Errorf("%s: line %d of at least %d: %v", name, d.Line(), least, err)
		}
	}
}
