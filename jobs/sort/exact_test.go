package sort

import (
	"bytes"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
)

func TestNumbersOfJSONAreComparedExactly(t *testing.T) {
	number := rapid.Custom(func(t *rapid.T) string {
		text := rapid.StringMatching(`-?(0|[1-9][09]{0,25})(\.[0-9]{1,3}0{0,3})?`).Draw(t, "decimal")
		if rapid.Bool().Draw(t, "has an exponent") {
			text += fmt.Sprint(rapid.SampledFrom([]string{"e", "E+", "E-", "e-0", "e00"}).Draw(t, "e"), rapid.IntRange(0, 30).Draw(t, "exponent"))
		}
		return text
	})
	testkit.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if got, want := bytes.Compare(appendExact(nil, []byte(a)), appendExact(nil, []byte(b))), x.Cmp(y); got != want {
			t.Fatalf("%s and %s: %d, want %d", a, b, got, want)
		}
	})
	nines := strings.Repeat("9", 40)
	order := []string{"-1e" + nines, "-1e32000", "-18446744073709551617", "-18446744073709551616", "-1e-" + nines, "0", "1e-" + nines, "1.1e-99999", "1e-32001", "1e-32000", "1e-16384",
		"9007199254740992", "9007199254740993", "18446744073709551615", "18446744073709551616", "1e32000", "1e32001", "1e99999", "1.1e" + nines}
	for i := 1; i < len(order); i++ {
		if a, b := appendExact(nil, []byte(order[i-1])), appendExact(nil, []byte(order[i])); bytes.Compare(a, b) >= 0 {
			t.Errorf("%s is not before %s", order[i-1], order[i])
		}
	}
	for _, zero := range []string{"-0", "0.000", "0e99", "-0.0E-5"} {
		if !bytes.Equal(appendExact(nil, []byte(zero)), appendExact(nil, []byte("0"))) {
			t.Errorf("%s is not zero", zero)
		}
	}
}

func TestStringsOfJSONAreComparedWithoutEscapes(t *testing.T) {
	for text, want := range map[string]string{
		`""`: "", `"a"`: "a", `"a\n\t\"\\\/\b\f\r"`: "a\n\t\"\\/\b\f\r", `"\u0041\u00e9\u20ac"`: "Aé€", `"\ud83d\ude00"`: "😀", "17": "17",
	} {
		if got := jsonText([]byte(text)); string(got) != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestKeysOfCSVAndJSON(t *testing.T) {
	header := []string{"a", "2", "2n", "first name", "x:n", "b.c", `say "so"`}
	for key, want := range map[string]int{
		"2": 1, "2n": 1, "2n,2": 1, "7r": 6, `"2"`: 1, `"2n"`: 2, `"2n":r`: 2, "a": 0, "a:nr": 0, "first name": 3, "x:n": 4, `"x:n":r`: 4, "b.c": 5, `"say ""so"""`: 6, `say "so"`: 6,
		"8": -1, "nosuch": -1, "1.2": -1, "1,2": -1, "0": -1, "": -1,
	} {
		f, err := (&Options{CSV: true, Header: header}).parseColumn(key)
		if err == nil != (want >= 0) || err == nil && f.column != want {
			t.Errorf("%s: column %d, %v; want %d", key, f.column, err, want)
		}
	}
	for key, want := range map[string][]string{
		"a": {"a"}, "a.b:nr": {"a", "b"}, `"a.b"`: {"a.b"}, `"a.b".c:n`: {"a.b", "c"}, `x."a:n"`: {"x", "a:n"}, `"say ""so"""`: {`say "so"`}, `""`: {""}, "a..b": nil, "": nil, ".a": nil, `"a.b`: nil, `x."a`: nil, `a"b`: {`a"b`},
	} {
		if f, err := parsePath(key); err == nil != (want != nil) || err == nil && !slices.Equal(f.path, want) {
			t.Errorf("%s: %q, %v; want %q", key, f.path, err, want)
		}
	}
}
