package typed

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type celsius float32

type nested struct {
	Name string
	At   time.Time
	In   struct {
		Deep Desc[Pair[string, celsius]]
		Raw  []byte
	}
	On  bool
	Low Desc[int8]
	Big uint16
	Mid Desc[time.Time]
	End string
}

// TestEncodingsSortAsValuesAndComeBack: for random values, near to one another.
func TestEncodingsSortAsValuesAndComeBack(t *testing.T) {
	same[string](t)
	same[[]byte](t)
	same[int](t)
	same[int32](t)
	same[uint64](t)
	same[float64](t)
	same[celsius](t)
	same[bool](t)
	same[time.Time](t)
	same[Desc[string]](t)
	same[Desc[float64]](t)
	same[Pair[string, string]](t)
	same[Pair[Desc[string], int]](t)
	same[Pair[Pair[[]byte, int], Desc[Pair[string, Desc[[]byte]]]]](t)
	same[nested](t)
	same[struct{}](t)
}

func same[T any](t *testing.T) {
	c := must(newCodec[T]())
	t.Run(fmt.Sprint(reflect.TypeFor[T]()), func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			a, b := drawn[T](rt), drawn[T](rt)
			if rapid.Bool().Draw(rt, "first fields equal") {
				shareFields(rt, reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem())
			}
			x, y := c.append(nil, a), c.append([]byte("before"), b)[6:]
			if got, want := bytes.Compare(x, y), compare(reflect.ValueOf(a), reflect.ValueOf(b)); got != want {
				rt.Fatalf("%v and %v compare as %d, their encodings %x and %x as %d", a, b, want, x, y, got)
			}
			back := c.decode(x)
			if compare(reflect.ValueOf(back), reflect.ValueOf(a)) != 0 {
				rt.Fatalf("%v comes back as %v from %x", a, back, x)
			}
			for n := range c.fields { // the prefix of a group has whole fields, and names no other group
				p, q := x[:c.prefix(n)(x)], y[:c.prefix(n)(y)]
				equal := true
				for f := range n {
					equal = equal && compare(reflect.ValueOf(a).Field(f), reflect.ValueOf(b).Field(f)) == 0
				}
				if equal != bytes.Equal(p, q) || !equal && (bytes.HasPrefix(p, q) || bytes.HasPrefix(q, p)) {
					rt.Fatalf("the first %d fields of %v and %v: %x and %x", n, a, b, p, q)
				}
			}
		})
	})
}

// drawn draws a value.
func drawn[T any](rt *rapid.T) (v T) {
	fill(rt, reflect.ValueOf(&v).Elem())
	return v
}

func fill(rt *rapid.T, v reflect.Value) {
	text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2, 'a', 'b', 254, 255}), 0, 10), func(p []byte) string { return string(p) })
	switch v.Kind() {
	case reflect.Struct:
		if at, is := v.Addr().Interface().(*time.Time); is {
			*at = time.Unix(rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64Range(-1<<40, 1<<40)).Draw(rt, "s"), rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 999_999_999)).Draw(rt, "ns")).UTC()
			return
		}
		for i := range v.NumField() {
			fill(rt, v.Field(i))
		}
	case reflect.Slice:
		v.SetBytes([]byte(text.Draw(rt, "bytes")))
	case reflect.String:
		v.SetString(text.Draw(rt, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(rt, "bool"))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN()})).Draw(rt, "float"))
	case reflect.Uint16, reflect.Uint64:
		v.SetUint(rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64()).Draw(rt, "uint"))
	default:
		v.SetInt(rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64()).Draw(rt, "int"))
	}
}

// shareFields gives b some of the first fields of a.
func shareFields(rt *rapid.T, a, b reflect.Value) {
	if _, moment := a.Interface().(time.Time); a.Kind() == reflect.Struct && !moment {
		for i := range rapid.IntRange(0, a.NumField()).Draw(rt, "shared") {
			b.Field(i).Set(a.Field(i))
		}
	}
}

// compare compares by the rules of the package comment.
func compare(a, b reflect.Value) int {
	switch a.Kind() {
	case reflect.Struct:
		if at, is := a.Interface().(time.Time); is {
			return at.Compare(b.Interface().(time.Time))
		}
		order := 0
		for i := 0; i < a.NumField() && order == 0; i++ {
			order = compare(a.Field(i), b.Field(i))
		}
		if strings.HasPrefix(a.Type().Name(), "Desc[") {
			order = -order
		}
		return order
	case reflect.Slice:
		return bytes.Compare(a.Bytes(), b.Bytes())
	case reflect.String:
		return cmp.Compare(a.String(), b.String())
	case reflect.Bool:
		return cmp.Compare(fmt.Sprint(a.Bool()), fmt.Sprint(b.Bool())) // false < true
	case reflect.Float32, reflect.Float64:
		return cmp.Compare(a.Float(), b.Float())
	case reflect.Uint16, reflect.Uint64:
		return cmp.Compare(a.Uint(), b.Uint())
	}
	return cmp.Compare(a.Int(), b.Int())
}

func TestTypesThatCannotBeEncodedAreNamed(t *testing.T) {
	for want, err := range map[string]error{
		"typed: map[string]int: has a map[string]int":               errorOf[map[string]int](),
		"typed: struct { A *int }: has a *int":                      errorOf[struct{ A *int }](),
		"typed: struct { a int }: has a field that is not exported": errorOf[struct{ a int }](),
		"typed: typed.Pair[int,[]string]: has a []string":           errorOf[Pair[int, []string]](),
		"typed: interface {}: has a interface {}":                   errorOf[any](),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func errorOf[T any]() error {
	_, err := newCodec[T]()
	return err
}
