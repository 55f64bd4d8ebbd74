package streaming

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// readAll reads p in parts that end at cuts.
func readAll(r *WireReader, p []byte, cuts ...int) (pairs []string, err error) {
	emit := func(k, v []byte) { pairs = append(pairs, fmt.Sprintf("%q=%q", k, v)) }
	from := 0
	for _, cut := range append(cuts, len(p)) {
		n, err := r.Read(p[from:cut], cut == len(p), emit)
		if err != nil {
			return pairs, err
		}
		from += n
	}
	return pairs, nil
}

func TestLinesEndWithLFOrCROrBoth(t *testing.T) {
	for text, want := range map[string][]string{
		"":                 nil,
		"a\tb\n":           {`"a"="b"`},
		"a\tb":             {`"a"="b"`},
		"a\rb\r\nc\n\nd\r": {`"a"=""`, `"b"=""`, `"c"=""`, `""=""`, `"d"=""`},
		"a\tb\tc\n":        {`"a"="b\tc"`},
		"\tv\n":            {`""="v"`},
	} {
		r := WireReader{Separator: []byte("\t")}
		for cut := range len(text) + 1 {
			got, err := readAll(&r, []byte(text), cut)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%q cut at %d: %v, %v; want %v", text, cut, got, err, want)
			}
		}
	}
}

func TestKeysHaveSoManyFields(t *testing.T) {
	for _, c := range []struct {
		line, separator string
		n               int
		key, value      string
	}{
		{"a.b.c", ".", 1, "a", "b.c"}, {"a.b.c", ".", 2, "a.b", "c"}, {"a.b.c", ".", 3, "a.b.c", ""}, {"a.b.c", ".", 9, "a.b.c", ""},
		{"a::b", "::", 1, "a", "b"}, {"a", ".", 0, "a", ""}, {"..", ".", 2, ".", ""},
	} {
		if k, v := cutFields([]byte(c.line), []byte(c.separator), c.n); string(k) != c.key || string(v) != c.value {
			t.Errorf("%+v: %q %q", c, k, v)
		}
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom([]Format{RawBytes, TypedBytes}).Draw(t, "format")
		w, r := Writer{Format: f, Key: Bytes, Value: Bytes}, WireReader{Format: f}
		var text []byte
		n := rapid.IntRange(0, 9).Draw(t, "records")
		for range n {
			text = w.Append(text, rapid.SliceOf(rapid.Byte()).Draw(t, "key"), rapid.SliceOf(rapid.Byte()).Draw(t, "value"))
		}
		whole, err := readAll(&r, text)
		cut, err2 := readAll(&r, text, rapid.IntRange(0, len(text)).Draw(t, "cut"))
		if err != nil || err2 != nil || len(whole) != n || !slices.Equal(whole, cut) {
			t.Fatalf("%v %v, %v %v", whole, err, cut, err2)
		}
	})
}

func TestRecordsAreWrittenInFourFormats(t *testing.T) {
	key, value := []byte("k"), []byte("v")
	for want, w := range map[string]Writer{
		"k\tv\n":                                 {Separator: []byte("\t")},
		"v\n":                                    {Separator: []byte("\t"), NoKey: true},
		"k\t(null)\n":                            {Separator: []byte("\t"), Value: Null},
		"k\n":                                    {Format: KeyLines},
		"\x00\x00\x00\x02\x01k\x00\x00\x00\x01v": {Format: RawBytes, Key: Text, Value: Bytes},
		"\x07\x00\x00\x00\x01k\x00\x00\x00\x00\x01v": {Format: TypedBytes, Key: Text, Value: Bytes},
	} {
		if got := w.Append(nil, key, value); string(got) != want {
			t.Errorf("%+v: %q, want %q", w, got, want)
		}
	}
	long := Writer{Format: RawBytes, Key: Long}
	if got := long.Append(nil, AppendLong(nil, -2), []byte{}); string(got) != "\x00\x00\x00\x08\xff\xff\xff\xff\xff\xff\xff\xfe\x00\x00\x00\x01\x00" {
		t.Errorf("%q", got)
	}
}

func TestTypedBytesBecomeText(t *testing.T) {
	for text, want := range map[string]string{
		"\x03\xff\xff\xff\xff": "-1", "\x04\x00\x00\x00\x00\x00\x00\x01\x00": "256", "\x02\x01": "true", "\x01\xfe": "-2",
		"\x07\x00\x00\x00\x02hi": "hi", "\x00\x00\x00\x00\x02\x0a\xff": "0aff", "\x06\x3f\xf0\x00\x00\x00\x00\x00\x00": "1.0",
		"\x06\x41\x63\x12\xd0\x00\x00\x00\x00": "1.0E7", "\x05\x3d\xcc\xcc\xcd": "0.1", "\x06\x3f\x1a\x36\xe2\xeb\x1c\x43\x2d": "1.0E-4",
		"\x08\x00\x00\x00\x02\x01\x01\x01\x02": "[1, 2]", "\x09\x01\x01\x07\x00\x00\x00\x00\xff": "[1, ]",
		"\x0a\x00\x00\x00\x02\x01\x02\x01\x05\x01\x01\x01\x06": "{1=6, 2=5}",
	} {
		if got := Typed.AppendString(nil, []byte(text)); string(got) != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestNumbersSortAsTheyAreStored(t *testing.T) {
	numbers := []int64{-1 << 63, -5, -1, 0, 1, 255, 256, 1<<63 - 1}
	for i, n := range numbers {
		if toLong(AppendLong(nil, n)) != n || i > 0 && bytes.Compare(AppendLong(nil, numbers[i-1]), AppendLong(nil, n)) >= 0 {
			t.Errorf("%d", n)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("\x0a\x00\x00\x00\x01\x01\x02\x09\xff\x07\x00\x00\x00\x00"), byte(3))
	f.Add([]byte("\x08\x7f\xff\xff\xff"), byte(3))
	f.Add([]byte("a\r\nb\tc"), byte(0))
	f.Fuzz(func(t *testing.T, p []byte, format byte) {
		r := WireReader{Format: Format(format % 4), Separator: []byte("\t")}
		n, err := r.Read(p, true, func(k, v []byte) {
			if r.Format == TypedBytes {
				Typed.AppendString(nil, k)
			}
		})
		if n > len(p) || err == nil && n != len(p) {
			t.Fatalf("%d of %d bytes, %v", n, len(p), err)
		}
	})
}

func BenchmarkLines(b *testing.B) {
	text := bytes.Repeat([]byte("a line of a command,\twith a key and a value\nand one without\n"), 2000)
	r := WireReader{Separator: []byte("\t")}
	keys := 0
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Read(text, false, func(k, v []byte) { keys += len(k) }); err != nil {
			b.Fatal(err)
		}
	}
}

// The fast path for text without CR must give the records of the other path.
func TestPlainLinesAreCutAsAllLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringOf(rapid.RuneFrom([]rune("ab\t,\n"))).Draw(t, "text"))
		separator := rapid.SampledFrom([]string{"\t", ",", "\n", "b"}).Draw(t, "separator")
		ended := rapid.Bool().Draw(t, "ended")
		plain, general := WireReader{Separator: []byte(separator)}, WireReader{Separator: []byte(separator)}
		var got, want []string
		n, err := plain.Read(text, ended, func(k, v []byte) { got = append(got, fmt.Sprintf("%q=%q", k, v)) })
		// With a CR at its end the text takes the other path. The line of the CR is left out.
		cr := append(append([]byte{}, text...), '\r')
		general.lines(cr, false, func(k, v []byte) { want = append(want, fmt.Sprintf("%q=%q", k, v)) })
		if tail := len(text) - n; ended && err == nil {
			if n != len(text) {
				t.Fatalf("%d of %d bytes", n, len(text))
			}
			if last := bytes.LastIndexByte(text, '\n') + 1; last < len(text) {
				general.line(text[last:], func(k, v []byte) { want = append(want, fmt.Sprintf("%q=%q", k, v)) })
			}
		} else if bytes.IndexByte(text[n:], '\n') >= 0 || tail < 0 {
			t.Fatalf("%d bytes are left of %q", tail, text)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
	})
}
