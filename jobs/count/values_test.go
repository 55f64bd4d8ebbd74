package count

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/jobs/jobtest"
)

// drawNumber draws the text of a number: whole, with a fraction or an exponent, and of many digits.
func drawNumber(t *rapid.T) string {
	return rapid.OneOf(
		rapid.StringMatching(`[+-]?[0-9]{1,4}`), rapid.StringMatching(`-?[0-9]{0,3}\.[0-9]{1,6}`), rapid.StringMatching(`[0-9]{1,25}\.?`),
		rapid.StringMatching(`-?[0-9]{17,21}\.[0-9]{1,3}`), rapid.StringMatching(`-?[1-9](\.[0-9])?[eE][+-]?[0-9]{1,2}`),
		rapid.SampledFrom([]string{"9223372036854775807", "-9223372036854775808", "999999999999999999", "1000000000000000000", "0", "-0", ".5", " 7 ", "0.00"}),
	).Draw(t, "number")
}

// text returns r with all its digits. r has a finite decimal form.
func text(r *big.Rat) string {
	n, _ := r.FloatPrec()
	return r.FloatString(n)
}

// TestValuesAreExact: sums, least and greatest numbers are those of math/big, and means the nearest numbers of 64 bits.
func TestValuesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		isCSV := rapid.Bool().Draw(t, "CSV")
		type group struct {
			records int64
			all     []*big.Rat
			sum     *big.Rat
		}
		groups := map[string]*group{}
		var file strings.Builder
		for range rapid.IntRange(0, 40).Draw(t, "records") {
			key, number := rapid.SampledFrom([]string{"a", "b", "", "c d"}).Draw(t, "key"), ""
			g := groups[key]
			if g == nil {
				g = &group{sum: new(big.Rat)}
				groups[key] = g
			}
			if g.records++; rapid.IntRange(0, 9).Draw(t, "empty") > 0 {
				number = drawNumber(t)
				r, ok := new(big.Rat).SetString(strings.TrimSuffix(strings.TrimSpace(number), "."))
				if !ok {
					t.Fatalf("%q", number)
				}
				g.all = append(g.all, r)
				g.sum.Add(g.sum, r)
			}
			end := "\n"
			if isCSV {
				end = "\x00"
			}
			fmt.Fprintf(&file, "%s,x,%s%s", key, number, end)
		}
		var want strings.Builder
		for _, key := range slices.Sorted(maps.Keys(groups)) {
			g := groups[key]
			cells := []string{"", "", "", ""}
			if len(g.all) > 0 {
				mean, _ := new(big.Rat).Quo(g.sum, big.NewRat(int64(len(g.all)), 1)).Float64()
				low, high := slices.MinFunc(g.all, (*big.Rat).Cmp), slices.MaxFunc(g.all, (*big.Rat).Cmp)
				cells = []string{text(g.sum), fmt.Sprint(mean), text(low), text(high)}
			}
			fmt.Fprintf(&want, "%d %s %s\n", g.records, key, strings.Join(cells, ","))
		}
		chain, err := New(Options{CSV: isCSV, Fields: "1", Delimiter: ",", Values: []Value{{Sum, "3"}, {Mean, "3"}, {MinOf, "3"}, {MaxOf, "3"}}})
		if err != nil {
			t.Fatal(err)
		}
		cut := rapid.SampledFrom([]jobtest.Cut{{}, {BlockBytes: 1, SplitBlocks: 1}, {BlockBytes: 50, SplitBlocks: 2}}).Draw(t, "cut")
		out, err := jobtest.Run(chain, []jobtest.File{{Path: "f", Data: []byte(file.String())}}, cut)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for line := range strings.FieldsFuncSeq(string(out.Data), func(r rune) bool { return r == '\n' || r == 0 }) {
			parts := strings.Split(strings.TrimLeft(line, " "), ",")
			if !isCSV { // the count and the key share a part
				count, key, _ := strings.Cut(parts[0], " ")
				parts = slices.Concat([]string{count, key}, parts[1:])
			}
			var mean float64
			if fmt.Sscan(parts[3], &mean); parts[3] != "" {
				parts[3] = fmt.Sprint(mean)
			}
			fmt.Fprintf(&got, "%s %s %s\n", parts[0], parts[1], strings.Join(parts[2:], ","))
		}
		if got.String() != want.String() {
			t.Fatalf("got\n%s\nwant\n%s\nof %q", got.String(), want.String(), file.String())
		}
	})
}

func TestValuesInAllForms(t *testing.T) {
	header := []string{"city", "price", "a,b"}
	sum := func(columns ...string) (all []Value) {
		for _, c := range columns {
			all = append(all, Value{Sum, c})
		}
		return all
	}
	for _, c := range []struct {
		options Options
		text    string
		want    string
	}{
		{Options{CSV: true, Header: header, Fields: "city", Values: sum("price", `"a,b"`)}, `x,1,"2"|x,1.5|"y ""z""",3,`, `2,x,2.5,2|1,"y ""z""",3,|`},
		{Options{CSV: true, Header: header, Values: sum("2")}, "x,1|x,.5", "2,1.5|"},
		{Options{CSV: true, Header: header, Fields: "city", Top: 1, Values: sum("price")}, "b,1|a,2|b,3", "2,b,4|"},
		{Options{CSV: true, JSON: true, Header: header, Fields: "city", Top: 2, Values: sum("price")}, "b,1|a,|b,3", `{"count":2,"city":"b","sum(price)":4}|{"count":1,"city":"a","sum(price)":null}|`},
		{Options{CSV: true, JSON: true, Values: sum("1")}, "1|2", `{"count":2,"sum(1)":3}|`},
		{Options{Fields: "1", Values: sum("2")}, "a\t1|a\t2|b", "2 a\t3|1 b\t|"},
		{Options{Fields: "1", Values: sum("2"), Top: 1}, "a\t1|a\t2|b", "2 a\t3|"},
		{Options{Fields: "1", Values: sum("2"), JSON: true, Top: 1}, "a\t1|a\t2|b", `{"count":2,"key":"a","sum(2)":3}|`},
		{Options{Fields: "1", Values: sum("1")}, "1\tx|1|1", "3 1\t3|"}, // a line without delimiter is field 1
		{Options{Words: true, Fields: "1", Values: sum("2")}, " a  1|a 2 x", "2 a\t3|"},
		{Options{Values: sum("1")}, "1|2|3", "3\t6|"},
		{Options{Fields: "1", Min: 2, Values: sum("2")}, "a\t1|a\t2|b\t3", "2 a\t3|"},
		{Options{Distinct: true}, "a|b|a|", "2|"},
		{Options{Distinct: true}, "", "0|"},
		{Options{Distinct: true, Min: 2}, "a|b|a|", "1|"},
		{Options{Distinct: true, Fields: "2", JSON: true}, "a\tx|b\tx", `{"distinct":1}|`},
		{Options{Distinct: true, CSV: true, Header: header, Fields: "city"}, "a,1|b,1|a,2", "2|"},
	} {
		for _, cut := range []jobtest.Cut{{}, {BlockBytes: 1, SplitBlocks: 1}} {
			if got := run(t, c.options, cut, c.text); got != c.want {
				t.Errorf("%+v of %q: %q, want %q", c.options, c.text, got, c.want)
			}
		}
	}
	if got := string((&Options{CSV: true, Header: header, Fields: "city", Values: sum("price", `"a,b"`)}).AppendHeader(nil)); got != `count,city,sum(price),"sum(a,b)"` {
		t.Errorf("the header is %s", got)
	}
}

func TestWhatIsNoNumber(t *testing.T) {
	for _, number := range []string{"x", "1x", "--1", "1.2.3", ".", "+", "e5", "1e", "1e5000", "0x1", "1_0", "NaN", "inf", "1 2", "1,000", "1e5.", strings.Repeat("9", 5000)} {
		if d, ok := parseDecimal([]byte(number)); ok {
			t.Errorf("%.30q is %s", number, d.appendText(nil))
		}
	}
	chain, err := New(Options{Fields: "1", Values: []Value{{Sum, "2"}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = jobtest.Run(chain, []jobtest.File{{Path: "f", Data: []byte("a\t1\na\tx\n")}}, jobtest.Cut{})
	if err == nil || !strings.Contains(err.Error(), `sum(2): x is not a number`) {
		t.Errorf("error %v", err)
	}
	for _, o := range []Options{
		{ZeroEnded: true, Values: []Value{{Sum, "1"}}}, {Words: true, Values: []Value{{Sum, "1"}}}, {Values: []Value{{Sum, "1-2"}}}, {Values: []Value{{Sum, "0"}}},
		{Values: []Value{{Sum, ""}}}, {CSV: true, Values: []Value{{Sum, "name"}}}, {Distinct: true, Top: 1}, {Distinct: true, Values: []Value{{Sum, "1"}}},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
