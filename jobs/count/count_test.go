package count

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
)

// run counts texts, each as a file. In options, text and result, a bar stands for the end of a
// line. The counts have no blanks.
func run(t testing.TB, o Options, cut jobtest.Cut, texts ...string) string {
	t.Helper()
	chain, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	end := "\n"
	if o.ZeroEnded || o.CSV {
		end = "\x00"
	}
	var files []jobtest.File
	for i, text := range texts {
		files = append(files, jobtest.File{Path: fmt.Sprint("f", i), Data: []byte(strings.ReplaceAll(text, "|", end))})
	}
	out, err := jobtest.Run(chain, files, cut)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.SplitSeq(string(out.Data), end) {
		lines = append(lines, strings.TrimLeft(line, " "))
	}
	return strings.Join(lines, "|")
}

func TestCount(t *testing.T) {
	header := []string{"name", "age", "first, last"}
	for _, c := range []struct {
		name    string
		options Options
		text    string
		want    string
	}{
		{"nothing", Options{}, "", ""},
		{"lines in byte order, without a final newline too", Options{}, "b|a||é|B|a", "1 |1 B|2 a|1 b|1 é|"},
		{"empty lines alone", Options{}, "|||", "3 |"},
		{"blanks and digits at the start of a line", Options{Top: 1}, "  7 x|  7 x|y", "2   7 x|"},
		{"lines that end with NUL", Options{ZeroEnded: true}, "a\nb|a\nb|c", "2 a\nb|1 c|"},
		{"ignoring case", Options{IgnoreCase: true}, "Ab|aB|É", "2 ab|1 É|"},
		{"words", Options{Words: true}, "a b|\ta\fc|", "2 a|1 b|1 c|"},
		{"letters and digits", Options{Words: true, Alnum: true, IgnoreCase: true}, "It's it,A1", "1 a1|2 it|1 s|"},
		{"a field", Options{Fields: "2", Delimiter: ","}, "a,b,c|x,b|x,c|", "2 b|1 c|"},
		{"TAB is the delimiter", Options{Fields: "1"}, "a\tb|a\tc|a b", "2 a|1 a b|"},
		{"a line without delimiter counts as a whole", Options{Fields: "2", Delimiter: ","}, "a|a,|", "1 |1 a|"},
		{"or is left out", Options{Fields: "2", Delimiter: ",", Delimited: true}, "a|a,||", "1 |"},
		{"fields in the order of the line", Options{Fields: "3,1", Delimiter: ","}, "a,b,c,d", "1 a,c|"},
		{"ranges that overlap or touch", Options{Fields: "2-3,3-4,5", Delimiter: ","}, "a,b,c,d,e,f", "1 b,c,d,e|"},
		{"ranges to the end and from the start", Options{Fields: "-2,4-", Delimiter: ","}, "a,b,c,d,e", "1 a,b,d,e|"},
		{"a range that begins behind the line", Options{Fields: "1,4-5", Delimiter: ","}, "a,b,c", "1 a|"},
		{"a delimiter that is a letter, ignoring case", Options{Fields: "2", Delimiter: "A", IgnoreCase: true}, "xAYaYAz", "1 yay|"},
		{"words as fields", Options{Words: true, Fields: "2"}, "  a  b |a\tb c|a", "1 |2 b|"},
		{"several, with one space between", Options{Words: true, Fields: "1,3-", IgnoreCase: true}, " A  b\tC  d", "1 a c d|"},
		{"lines without any of them left out", Options{Words: true, Fields: "2", Delimited: true}, "a|a b", "1 b|"},
		{"the most frequent, then byte order", Options{Top: 3}, "d|c|c|b|b|a|a|a", "3 a|2 b|2 c|"},
		{"at least and at most", Options{Min: 2, Max: 2}, "c|c|b|a|a|a", "2 c|"},
		{"at most, and the first of these", Options{Top: 1, Max: 2}, "c|c|b|a|a|a", "2 c|"},
		{"more than the heap holds", Options{Top: 1<<16 + 1}, "b|a|a", "2 a|1 b|"},
		{"CSV: all columns, quotes only where needed", Options{CSV: true, Header: header}, `a,"b"|"a",b|"a,b","c""d"`, `2,a,b|1,"a,b","c""d"|`},
		{"a column by its number", Options{CSV: true, Header: header, Fields: "2"}, "a,1|b,\"1\"\r|c", "1,|2,1|"},
		{"columns by name and number", Options{CSV: true, Header: header, Fields: "name,3-9"}, "a,x,b|a,y,b", "2,a,b|"},
		{"a name with a comma", Options{CSV: true, Header: header, Fields: `"first, last"`}, "a,x,b|a,y,b", "2,b|"},
		{"JSON", Options{JSON: true}, "a\"|b|a\"", `{"count":2,"key":"a\""}|{"count":1,"key":"b"}|`},
		{"JSON of the most frequent columns", Options{CSV: true, JSON: true, Header: header, Fields: "2-", Top: 1}, `1,2,"x,y"|1,2,"x,y"|3,4`, `{"count":2,"age":"2","first, last":"x,y"}|`},
		{"JSON of columns without a header", Options{CSV: true, JSON: true}, "a,b|c", `{"count":1,"1":"a","2":"b"}|{"count":1,"1":"c"}|`},
		{"JSON of some columns", Options{CSV: true, JSON: true, Fields: "2,4-"}, "a,b,c,d,e", `{"count":1,"2":"b","4":"d","5":"e"}|`},
		{"newlines in quotes; a separator of one's own", Options{CSV: true, Header: header, Fields: "1", Delimiter: ";", Top: 2}, "\"a\nb\";c|\"a\nb\"|a,b", "2,\"a\nb\"|1,a,b|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.options.CSV && c.options.Delimiter == ";" {
				c.want = strings.Replace(strings.Replace(c.want, "2,", "2;", 1), "1,", "1;", 1)
			}
			for _, cut := range []jobtest.Cut{{}, {BlockBytes: 1, SplitBlocks: 1}} {
				if got := run(t, c.options, cut, c.text); got != c.want {
					t.Errorf("%+v: %q, want %q", cut, got, c.want)
				}
			}
		})
	}
}

func TestWrongOptions(t *testing.T) {
	for _, o := range []Options{
		{Top: -1}, {Min: -1}, {Max: -1}, {CSV: true, Words: true}, {Alnum: true}, {Words: true, Alnum: true, Fields: "1"}, {Words: true, ZeroEnded: true},
		{Delimiter: ","}, {Delimiter: ",", Words: true}, {Delimiter: "::", Fields: "1"}, {Delimited: true}, {Delimited: true, CSV: true, Fields: "1"},
		{Fields: "1", Delimiter: "\n"}, {Fields: "1", Delimiter: "\x00", ZeroEnded: true},
		{Fields: "0"}, {Fields: "-"}, {Fields: "3-2"}, {Fields: "1-0"}, {Fields: "a"}, {Fields: "1-2-3"}, {Fields: ","}, {Fields: "99999999999999999999"},
		{CSV: true, JSON: true, Header: []string{"a", "a"}}, {CSV: true, JSON: true, Header: []string{"a", "count"}, Fields: "2"}, {JSON: true, Values: []Value{{Sum, "1"}, {Sum, "1"}}},
		{CSV: true, Header: []string{"a"}, Fields: "b"}, {CSV: true, Header: []string{"a"}, Fields: "2"}, {CSV: true, Header: []string{"a"}, Fields: "0"},
	} {
		if _, err := New(o); !errs.IsUsage(err) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestHeader(t *testing.T) {
	o := Options{CSV: true, Header: []string{"a", "b,c", "d"}}
	for fields, want := range map[string]string{"": `count,a,"b,c",d`, "d,1": "count,a,d", "2-": `count,"b,c",d`} {
		if o.Fields = fields; string(o.AppendHeader(nil)) != want {
			t.Errorf("%s: %s, want %s", fields, o.AppendHeader(nil), want)
		}
	}
}

// Each set of options has the same result as a pipeline of GNU tools.
func TestGNUToolsAgree(t *testing.T) {
	jobtest.Tool(t, nil, "uniq", "--version") // skips the test if it is not installed
	jobtest.Tool(t, nil, "cut", "--version")
	pipelines := []struct {
		options  Options
		pipeline string
	}{
		{Options{}, "sort f | uniq -c"},
		{Options{Different: true}, "sort f | uniq -c"},
		{Options{Different: true, ZeroEnded: true, IgnoreCase: true}, "tr A-Z a-z <f | sort -z | uniq -cz"},
		{Options{Different: true, Min: 2, Top: 3}, "sort f | uniq -cd | sort -s -k1,1nr | head -n 3"},
		{Options{ZeroEnded: true}, "sort -z f | uniq -cz"},
		{Options{Min: 2}, "sort f | uniq -cd"},
		{Options{Max: 1}, "sort f | uniq -cu"},
		{Options{IgnoreCase: true}, "tr A-Z a-z <f | sort | uniq -c"},
		{Options{Top: 3}, "sort f | uniq -c | sort -s -k1,1nr | head -n 3"},
		{Options{Top: 3, ZeroEnded: true}, "sort -z f | uniq -cz | sort -zs -k1,1nr | head -zn 3"},
		{Options{Fields: "2", Delimiter: ","}, "cut -f2 -d, f | sort | uniq -c"},
		{Options{Fields: "2", Delimiter: ",", Delimited: true}, "cut -s -f2 -d, f | sort | uniq -c"},
		{Options{Fields: "1,3-", Delimiter: " "}, "cut -f1,3- '-d ' f | sort | uniq -c"},
		{Options{Fields: "-2,4,6-7", Delimiter: ",", IgnoreCase: true}, "cut -f-2,4,6-7 -d, f | tr A-Z a-z | sort | uniq -c"},
		{Options{Fields: "2-3", Delimiter: "b", ZeroEnded: true}, "cut -z -f2-3 -db f | sort -z | uniq -cz"},
		{Options{Fields: "2", Delimiter: "\x00"}, "cut -f2 -d '' f | sort | uniq -c"},
		{Options{Words: true}, `tr -s ' \t\r\f' '\n' <f | grep -a . | sort | uniq -c`},
	}
	rapid.Check(t, func(r *rapid.T) {
		c := pipelines[rapid.IntRange(0, len(pipelines)-1).Draw(r, "pipeline")]
		bytes := rapid.SampledFrom([]byte("abAB,, \n\n\t\x00\xff0"))
		if rapid.IntRange(0, 9).Draw(r, "any") == 0 {
			bytes = rapid.Byte()
		}
		data := rapid.SliceOfN(bytes, 0, 200).Draw(r, "data")
		// If a file ends with a delimiter, GNU cut drops the last line.
		if n := len(data); n > 0 && c.options.Fields != "" && string(data[n-1]) == c.options.Delimiter {
			data = append(data, 'x')
		}
		files := []jobtest.File{{Path: "f", Data: data}}
		want, _ := jobtest.Tool(t, files, "sh", "-c", c.pipeline)
		chain, err := New(c.options)
		if err != nil {
			r.Fatal(err)
		}
		cut := jobtest.Cut{BlockBytes: rapid.IntRange(0, 20).Draw(r, "block"), SplitBlocks: rapid.IntRange(0, 3).Draw(r, "split")}
		got, err := jobtest.Run(chain, files, cut)
		if err != nil || string(got.Data) != string(want) {
			r.Fatalf("%s of %q: %v %q, want %q", c.pipeline, data, err, got.Data, want)
		}
	})
}

type discard struct{ keys, bytes int }

func (d *discard) Emit(key, value []byte) { d.keys++; d.bytes += len(key) }

// Take makes discard a jobs.Taker.
func (d *discard) Take(b jobs.Block, records []jobs.Span) {
	d.keys += len(records)
	d.bytes += len(b.Data)
}

// hot returns options whose mappers have a function that is marked hot.
func hot() map[string]Options {
	return map[string]Options{
		"lines": {}, "different": {Different: true}, "field": {Fields: "2", Delimiter: ","}, "words": {Words: true, Fields: "1,3"},
		"columns": {CSV: true, Header: []string{"a", "b"}, Fields: "2"},
	}
}

// sample returns lines of random fields.
func sample(lines int, end string) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for range lines {
		fmt.Fprintf(&b, "2026-01-%d,user%d,GET /%d.html 200,%d%s", rng.IntN(31), rng.IntN(1000), rng.IntN(100), rng.IntN(5000), end)
	}
	return b.Bytes()
}

func TestMapDoesNotAllocate(t *testing.T) {
	for name, o := range hot() {
		end := "\n"
		if o.CSV {
			end = "\x00"
		}
		data := sample(3000, end)
		chain, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		m, out := chain[0].NewMapper(), &discard{}
		if n := testing.AllocsPerRun(50, func() { _ = m.Map(jobs.Block{Data: data}, out) }); n != 0 {
			t.Errorf("%s: %v allocations per block", name, n)
		}
	}
}

func BenchmarkMap(b *testing.B) {
	for name, o := range hot() {
		b.Run("of="+name, func(b *testing.B) {
			end := "\n"
			if o.CSV {
				end = "\x00"
			}
			data := sample(5000, end)
			chain, err := New(o)
			if err != nil {
				b.Fatal(err)
			}
			m, out := chain[0].NewMapper(), &discard{}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				_ = m.Map(jobs.Block{Data: data}, out)
			}
		})
	}
}
