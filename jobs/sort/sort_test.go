package sort

import (
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/errs"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
	"mrlocal/jobs/jobtest"
)

func run(t testing.TB, o Options, cut jobtest.Cut, text string) string {
	t.Helper()
	chain, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jobtest.Run(chain, []jobtest.File{{Path: "f", Data: []byte(text)}}, cut)
	if err != nil {
		t.Fatal(err)
	}
	return string(out.Data)
}

func TestOrders(t *testing.T) {
	keys := func(k ...string) []string { return k }
	for _, c := range []struct {
		name    string
		options Options
		text    string
		want    string
	}{
		{"nothing", Options{}, "", ""},
		{"a last line without newline gets one", Options{}, "b\na", "a\nb\n"},
		{"bytes, not letters", Options{}, "b\nB\na\n\n\xff\né\n", "\nB\na\nb\né\n\xff\n"},
		{"a prefix comes first", Options{}, "ab\na\x00\na\n", "a\na\x00\nab\n"},
		{"carriage returns belong to the line", Options{}, "a\r\na\n", "a\na\r\n"},
		{"reverse", Options{Reverse: true}, "a\nab\n\nb\na\x00\n", "b\nab\na\x00\na\n\n"},
		{"unique", Options{Unique: true}, "b\na\nb\na\n", "a\nb\n"},
		{"stable without a key means nothing", Options{Stable: true}, "b\na\n", "a\nb\n"},
		{"numbers", Options{Numeric: true}, "10\n9\n-1\n1.5\n01.50\nx\n-\n.5\n-.5\n+3\n", "-1\n-.5\n+3\n-\nx\n.5\n01.50\n1.5\n9\n10\n"},
		{"no exponents", Options{Numeric: true}, "2\n1e9\n", "1e9\n2\n"},
		{"numbers of any length", Options{Numeric: true, Stable: true},
			"1" + strings.Repeat("0", 200) + "\n" + strings.Repeat("9", 200) + "\n-" + strings.Repeat("9", 300) + "\n",
			"-" + strings.Repeat("9", 300) + "\n" + strings.Repeat("9", 200) + "\n1" + strings.Repeat("0", 200) + "\n"},
		{"blanks before numbers", Options{Numeric: true}, " 10\n\t9\n", "\t9\n 10\n"},
		{"equal numbers by the whole line", Options{Numeric: true}, "1 b\n01 a\n1 a\n", "01 a\n1 a\n1 b\n"},
		{"reverse turns the last resort too", Options{Numeric: true, Reverse: true}, "1 a\n1 b\n2 a\n", "2 a\n1 b\n1 a\n"},
		{"stable leaves it out", Options{Numeric: true, Stable: true}, "1 b\n1 a\n", "1 b\n1 a\n"},
		{"unique keeps the first of equal keys", Options{Numeric: true, Unique: true}, "1 b\n1 a\n0 x\n", "0 x\n1 b\n"},
		{"case folded", Options{FoldCase: true}, "b\nA\na\nB\n", "A\na\nB\nb\n"},
		{"case folded and unique", Options{FoldCase: true, Unique: true}, "b\nA\na\nB\n", "A\nb\n"},
		{"leading blanks left out", Options{Blanks: true}, "  b\n a\n", " a\n  b\n"},
		{"a field to the line's end", Options{Keys: keys("2")}, "x b\ny a\n", "y a\nx b\n"},
		{"fields begin with their blanks", Options{Keys: keys("2,2")}, "x  b\ny a\n", "x  b\ny a\n"},
		{"b leaves them out", Options{Keys: keys("2b,2")}, "x  b\ny a\n", "y a\nx  b\n"},
		{"a separator", Options{Keys: keys("2,2"), Separator: ":"}, "x:b:1\ny:a:2\nz\n", "z\ny:a:2\nx:b:1\n"},
		{"NUL as separator", Options{Keys: keys("2"), Separator: `\0`}, "x\x00b\ny\x00a\n", "y\x00a\nx\x00b\n"},
		{"characters of a field", Options{Keys: keys("1.2,1.3")}, "xbc\nyab\n", "yab\nxbc\n"},
		{"an option on a key keeps the global ones off", Options{Keys: keys("2n"), Reverse: true}, "a 2\nb 10\n", "a 2\nb 10\n"},
		{"a key without takes them", Options{Keys: keys("2"), Numeric: true, Reverse: true}, "a 2\nb 10\n", "b 10\na 2\n"},
		{"several keys", Options{Keys: keys("1,1", "2nr")}, "b 1\na 2\na 10\n", "a 10\na 2\nb 1\n"},
		{"NUL inside of keys", Options{Keys: keys("1,1", "2,2r"), Separator: ":"}, "a\x00:a\na:b\na:c\na\x00:b\n", "a:c\na:b\na\x00:b\na\x00:a\n"},
		{"a key beyond the line is empty", Options{Keys: keys("99999999999999999999")}, "b\na\n", "a\nb\n"},
		{"lines that end with NUL", Options{ZeroEnded: true}, "b\nc\x00a\x00b", "a\x00b\x00b\nc\x00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, cut := range []jobtest.Cut{{}, {BlockBytes: 1, SplitBlocks: 2}} {
				if got := run(t, c.options, cut, c.text); got != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
			}
		})
	}
}

func TestWrongKeysSayWhere(t *testing.T) {
	for key, want := range map[string]string{
		"":        `Options.Keys: "": position 1: a number is missing`,
		"0":       `Options.Keys: "0": position 2: field number is zero: they count from 1`,
		"1,0":     `Options.Keys: "1,0": position 4: field number is zero: they count from 1`,
		"1.0":     `Options.Keys: "1.0": position 4: character position is zero: they count from 1`,
		"1.":      `Options.Keys: "1.": position 3: a number is missing`,
		"1,":      `Options.Keys: "1,": position 3: a number is missing`,
		"-1":      `Options.Keys: "-1": position 1: a number is missing`,
		"1x":      `Options.Keys: "1x": position 2: "x" is not understood: a key is F[.C][OPTS][,F[.C][OPTS]], and OPTS are letters of bdfghiMnRrV`,
		"1n,2M":   `Options.Keys: "1n,2M": options '-Mn' are incompatible`,
		"1n,2r;3": `Options.Keys: "1n,2r;3": position 6: ";3" is not understood: a key is F[.C][OPTS][,F[.C][OPTS]], and OPTS are letters of bdfghiMnRrV`,
	} {
		_, err := New(Options{Keys: []string{key}})
		if !errs.IsUsage(err) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := New(Options{Separator: "ab"}); !errs.IsUsage(err) {
		t.Error(err)
	}
}

// drawOptions draws random Options. gnu has the same flags of GNU sort. It draws no flags that
// exclude each other.
func drawOptions(t *rapid.T) (o Options, gnu []string) {
	add := func(name string, on *bool) {
		if *on = rapid.IntRange(0, 3).Draw(t, name) == 0; *on {
			gnu = append(gnu, name)
		}
	}
	compared := func() string {
		return rapid.SampledFrom([]string{"", "", "n", "g", "h", "M", "V", "R", "VR", "d", "i", "di", "dV", "iR"}).Draw(t, "compared by")
	}
	for _, letter := range compared() {
		*map[rune]*bool{'n': &o.Numeric, 'g': &o.General, 'h': &o.Human, 'M': &o.Month, 'V': &o.Version, 'R': &o.Random, 'd': &o.Dictionary, 'i': &o.Printing}[letter] = true
		gnu = append(gnu, "-"+string(letter))
	}
	add("-r", &o.Reverse)
	add("-u", &o.Unique)
	add("-s", &o.Stable)
	add("-f", &o.FoldCase)
	add("-b", &o.Blanks)
	add("-z", &o.ZeroEnded)
	if o.Separator = rapid.SampledFrom([]string{"", "", ":", " ", `\0`, "1"}).Draw(t, "-t"); o.Separator != "" {
		gnu = append(gnu, "-t", o.Separator)
	}
	position := func(zero int, letters string) string {
		p := fmt.Sprint(rapid.IntRange(1, 4).Draw(t, "field"))
		if rapid.Bool().Draw(t, "has character") {
			p += fmt.Sprint(".", rapid.IntRange(zero, 4).Draw(t, "character"))
		}
		if rapid.Bool().Draw(t, "has letters") {
			p += rapid.StringOfN(rapid.SampledFrom([]rune(letters)), 0, 2, -1).Draw(t, "letters")
		}
		return p
	}
	for range rapid.IntRange(0, 3).Draw(t, "keys") {
		letters := "rfb" + compared()
		key := position(1, letters)
		if rapid.Bool().Draw(t, "has end") {
			key += "," + position(0, letters)
		}
		o.Keys = append(o.Keys, key)
		gnu = append(gnu, "-k", key)
	}
	copy(o.Salt[:], rapid.SliceOfN(rapid.Byte(), SaltBytes, SaltBytes).Draw(t, "salt"))
	return o, append(gnu, "--random-source=salt")
}

func drawText(t *rapid.T) string {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{" ", "\t", "\n", "\n", "\n", "\x00", ":", "-", ".", "0", "1", "10", "a", "A", "b", "\xff", "\r", "00", "é"}),
		rapid.SampledFrom([]string{"-1.50", "1.5", " x", "b:", "1:2:3\n", "a b c\n", "-0\n", "0.000\n", "1K\n", "-2k\n", "1.5M", "1023", "G", "Z", "ki", "0M\n"}),
		rapid.SampledFrom([]string{"jan", "Feb\n", " DEC x", "Juni", "ma", "sep:", "~", "..", ".tar", ".gz", "a1", "a01", "v1.", "_", "file", "\x01", "\x7f"}),
		rapid.SampledFrom([]string{"1e3", "1E-2", "0x1p3", "0x.8", "0xfg", "inf", "-INFINITY", "+", "1e", "\v1", "1e400", "1e-4940\n", "3e-4951\n", "1.e5000\n", "1e-5000\n", "e5"}))
	return strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "text"), "")
}

func TestAnyOptionsOnAnyTextAgreeWithGNUSort(t *testing.T) {
	// coreutils 9.1 puts .a before .0. All other releases put .0 before .a.
	first, _ := jobtest.Tool(t, []jobtest.File{{Path: "f", Data: []byte(".0\n.a\n")}}, "sort", "-V", "f")
	dotsDiffer := string(first) != ".0\n.a\n"
	testkit.Check(t, func(rt *rapid.T) {
		o, gnu := drawOptions(rt)
		text := drawText(rt)
		if dotsDiffer && strings.Contains(strings.Join(gnu, ""), "V") {
			text = strings.ReplaceAll(text, ".", "_")
		}
		want, _ := jobtest.Tool(t, []jobtest.File{{Path: "f", Data: []byte(text)}, {Path: "salt", Data: o.Salt[:]}}, "sort", append(gnu, "f")...)
		cut := jobtest.Cut{BlockBytes: rapid.IntRange(0, 30).Draw(rt, "block"), SplitBlocks: rapid.IntRange(0, 3).Draw(rt, "split")}
		if got := run(t, o, cut, text); got != string(want) {
			rt.Fatalf("sort %q of %q:\n%q, want\n%q", gnu, text, got, want)
		}
	})
}

// GNU sort compares all bytes of NaNs in its memory, so it cannot be the oracle.
func TestNaNsStandBehindTextAndBeforeNumbers(t *testing.T) {
	var last []byte
	for _, text := range []string{"x", "-nan(7)", "-inf", "-1", "0", "1", "inf"} {
		key := appendGeneral(nil, []byte(text))
		if bytes.Compare(last, key) >= 0 {
			t.Errorf("%s: key %x is not above %x", text, key, last)
		}
		last = key
	}
}

// Lines that look alike show small differences between comparisons. Lines with equal keys keep
// their order (-s), so that a wrong equality shows too.
func TestLinesThatLookAlikeAgreeWithGNUSort(t *testing.T) {
	for _, c := range []struct {
		flag    string
		options Options
		line    string
	}{
		{"-g", Options{General: true}, `[+-]?[0-9]{0,3}(36893488147419103232|18446744073709551615|9007199254740993)?(\.[0-9]{0,3}(5|000000000000000000000000001)?)?(e([+-]?[0-9]{1,3}|[0-9]{4}|-[5-9][0-9]{3}))?`},
		{"-g", Options{General: true}, `-?0x[0-9a-f]{0,2}(8000000000000000|ffffffffffffffff)?[0-9a-f]{0,2}(\.[0-9a-f]{0,3})?(p(-?[0-9]{1,4}|1[0-9]{4}))?`},
		{"-g", Options{General: true}, `[+-]?(inf|INFINITY|infin|i|0x|x|1)`},
		{"-g", Options{General: true}, `-?[0-9]\.[0-9]{0,30}e(49[345]|-49[012])[0-9]`},
		{"-V", Options{Version: true}, `[ab0-2~_-][ab0-2.~_-]{0,8}`},
		{"-V", Options{Version: true}, `[a0]{1,3}(\.[a1~]{0,3}){0,3}`},
		{"-h", Options{Human: true}, `[ -]{0,2}[0-2]{0,3}(\.[0-9]{0,2})?[kKMGm]?[iB]?`},
		{"-M", Options{Month: true}, `[ \t]{0,2}([jJ][aAu][nNl]|[mM]a[rRyY]|dec|A[pu][rg]|oct[a-z])?[a-c]?`},
	} {
		line := rapid.StringMatching(c.line)
		c.options.Stable = true
		testkit.Check(t, func(rt *rapid.T) {
			text := strings.Join(rapid.SliceOfN(line, 20, 80).Draw(rt, "lines"), "\n") + "\n"
			want, _ := jobtest.Tool(t, []jobtest.File{{Path: "f", Data: []byte(text)}}, "sort", "-s", c.flag, "f")
			if got := run(t, c.options, jobtest.Cut{}, text); got != string(want) {
				rt.Fatalf("sort -s %s of %q:\n%q, want\n%q", c.flag, text, got, want)
			}
		})
	}
}

// value returns the number that -n reads, computed in a slow way.
func value(s string) *big.Rat {
	s = strings.TrimLeft(s, " \t\n")
	end := 0
	point := false
	for end < len(s) {
		c := s[end]
		if c == '-' && end == 0 || c >= '0' && c <= '9' {
			end++
		} else if c == '.' && !point {
			point = true
			end++
		} else {
			break
		}
	}
	r, ok := new(big.Rat).SetString("0" + strings.TrimPrefix(s[:end], "-") + "0")
	if !strings.Contains(s[:end], ".") {
		r, ok = new(big.Rat).SetString("0" + strings.TrimPrefix(s[:end], "-"))
	}
	if !ok {
		return new(big.Rat)
	}
	if strings.HasPrefix(s, "-") {
		r.Neg(r)
	}
	return r
}

func TestNumbersCompareByValueAndNoKeyIsAPrefixOfAnother(t *testing.T) {
	number := rapid.StringMatching(`[ \t]{0,2}-?(0{0,3}[0-9]{0,4}|[1-9][0-9]{120,140})(\.[0-9]{0,4}0{0,2})?[.e+ -]?`)
	testkit.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		ka, kb := appendNumber(nil, []byte(a)), appendNumber(nil, []byte(b))
		if want := value(a).Cmp(value(b)); bytes.Compare(ka, kb) != want {
			t.Fatalf("%q %q: keys %x %x compare %d, want %d", a, b, ka, kb, bytes.Compare(ka, kb), want)
		}
		if len(ka) != len(kb) && (bytes.HasPrefix(ka, kb) || bytes.HasPrefix(kb, ka)) {
			t.Fatalf("%q %q: one of %x %x is a prefix of the other", a, b, ka, kb)
		}
	})
}

func TestTextKeysKeepOrder(t *testing.T) {
	text := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 'b', 0xfe, 0xff}), 0, 6)
	testkit.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		ka, kb := appendText(nil, a, false, false), appendText(nil, b, false, false)
		if bytes.Compare(ka, kb) != bytes.Compare(a, b) || len(ka) != len(kb) && bytes.HasPrefix(ka, kb) {
			t.Fatalf("%x %x: keys %x %x", a, b, ka, kb)
		}
	})
}

type taker struct{ records int }

func (*taker) Emit(key, value []byte)                   {}
func (k *taker) Take(b jobs.Block, records []jobs.Span) { k.records += len(records) }

func linesOf(n, bytesEach int) []byte {
	rng := rand.New(rand.NewPCG(3, 4))
	var b bytes.Buffer
	for range n {
		fmt.Fprintf(&b, "%*d\n", bytesEach-1, rng.IntN(1e9))
	}
	return b.Bytes()
}

func TestMapAndAppendKeyDoNotAllocate(t *testing.T) {
	data := linesOf(1000, 40)
	m, out := &mapper{delim: '\n', order: &Order{}}, &taker{}
	if n := testing.AllocsPerRun(50, func() { _ = m.Map(jobs.Block{Data: data}, out) }); n != 0 {
		t.Errorf("Map: %v allocations per block", n)
	}
	ord, err := Compile(Options{Keys: []string{"1nr", "2.2,3f", "1g", "1h", "2V", "3M", "2R", "2d"}})
	if err != nil {
		t.Fatal(err)
	}
	var dst []byte
	line := []byte("12.5 some words in a line")
	if n := testing.AllocsPerRun(50, func() { dst = ord.AppendKey(dst[:0], line) }); n != 0 {
		t.Errorf("AppendKey: %v allocations per line", n)
	}
}

// With -u, the mapper does not pass on repeated lines.
func TestUniqueLeavesOutRepeats(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "",
		"a\n":               "a",
		"a\na\na\nb\nb\na":  "a b a",
		"\n\na\n\n":         " a ",
		"aa\nab\nab\naab\n": "aa ab aab",
	} {
		data := []byte(text)
		var got []string
		for _, s := range withoutRepeats(lines.AppendSpans(nil, data, '\n'), data) {
			got = append(got, text[s.Off:s.Off+s.Len])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func BenchmarkMap(b *testing.B) {
	for _, width := range []int{10, 40, 100} {
		b.Run(fmt.Sprint("line=", width, "B"), func(b *testing.B) {
			data := linesOf(256<<10/width, width)
			m, out := &mapper{delim: '\n', order: &Order{}}, &taker{}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				_ = m.Map(jobs.Block{Data: data}, out)
			}
			b.ReportMetric(float64(out.records)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
		})
	}
}

func BenchmarkWithoutRepeats(b *testing.B) {
	for name, data := range map[string][]byte{"equal": bytes.Repeat([]byte("the same line again, and once more\n"), 7000), "different": linesOf(7000, 35)} {
		b.Run("lines="+name, func(b *testing.B) {
			all := lines.AppendSpans(nil, data, '\n')
			var some []jobs.Span
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				some = withoutRepeats(append(some[:0], all...), data)
			}
		})
	}
}

func BenchmarkAppendKey(b *testing.B) {
	line := []byte("   1234567\tsome words in a line of text\t99")
	for _, c := range []struct {
		name    string
		options Options
	}{{"-n", Options{Numeric: true, Stable: true}}, {"-r", Options{Reverse: true}}, {"-k2,2f", Options{Keys: []string{"2,2f"}}}} {
		b.Run("flags="+c.name, func(b *testing.B) {
			ord, err := Compile(c.options)
			if err != nil {
				b.Fatal(err)
			}
			var dst []byte
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				dst = ord.AppendKey(dst[:0], line)
			}
		})
	}
}

// TestCompareIsTheOrderOfKeys draws orders and pairs of lines. Compare must agree with the keys
// of AppendKey.
func TestCompareIsTheOrderOfKeys(t *testing.T) {
	letters := []string{"", "n", "g", "h", "M", "V", "f", "d", "i", "df", "R"}
	testkit.Check(t, func(t *rapid.T) {
		var o Options
		for range rapid.IntRange(0, 2).Draw(t, "keys") {
			key := rapid.SampledFrom([]string{"1", "2", "1,1", "2,2", "1.2,1.3"}).Draw(t, "key") + rapid.SampledFrom(letters).Draw(t, "letters")
			if rapid.Bool().Draw(t, "descending") {
				key += "r"
			}
			o.Keys = append(o.Keys, key)
		}
		o.Reverse, o.FoldCase = rapid.Bool().Draw(t, "reverse"), rapid.Bool().Draw(t, "fold")
		o.Stable, o.Unique = rapid.Bool().Draw(t, "stable"), rapid.Bool().Draw(t, "unique")
		order, err := Compile(o)
		if err != nil {
			t.Skip(err)
		}
		line := rapid.StringOf(rapid.SampledFrom([]rune("aAbBzZ{`@[12-. \x00\t\u00e9")))
		a, b := []byte(line.Draw(t, "a")), []byte(line.Draw(t, "b"))
		want := bytes.Compare(order.AppendKey(nil, a), order.AppendKey(nil, b))
		if !order.needsKey() {
			want = bytes.Compare(a, b)
		}
		memory := []byte("before")
		x := Line{a, order.Key(&memory, a)}
		y := Line{b, order.Key(&memory, b)}
		if got := order.Compare(&x, &y); got != want {
			t.Fatalf("%+v: Compare(%q, %q) = %d, and their keys say %d", o, a, b, got, want)
		}
	})
}

func TestUpperTurnsOnlyLettersOfASCII(t *testing.T) {
	for at := range 19 { // in words of eight bytes, and in the rest behind them
		for c := range 256 {
			text := bytes.Repeat([]byte{0xff}, 19)
			text[at] = byte(c)
			want := bytes.Clone(text)
			if 'a' <= c && c <= 'z' {
				want[at] = byte(c) - 32
			}
			if lines.Upper(text); !bytes.Equal(text, want) {
				t.Fatalf("byte %#x at %d: % x", c, at, text)
			}
		}
	}
}
