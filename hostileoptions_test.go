package mrlocal_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mrlocal"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
	"mrlocal/jobs/sort"
)

// leafFields calls each with the index of every exported field of a struct type that is not a struct.
func leafFields(of reflect.Type, at []int, each func(name string, at []int, kind reflect.Type)) {
	for i := range of.NumField() {
		switch f, path := of.Field(i), append(slices.Clone(at), i); {
		case !f.IsExported():
		case f.Type.Kind() == reflect.Struct:
			leafFields(f.Type, path, each)
		default:
			each(f.Name, path, f.Type)
		}
	}
}

// hostileValues returns values of a type that no user needs. Functions and interfaces have none.
func hostileValues(of reflect.Type) (values []reflect.Value) {
	add := func(all ...any) {
		for _, v := range all {
			values = append(values, reflect.ValueOf(v).Convert(of))
		}
	}
	switch of.Kind() {
	case reflect.Pointer:
		for _, v := range hostileValues(of.Elem()) {
			p := reflect.New(of.Elem())
			p.Elem().Set(v)
			values = append(values, p)
		}
	case reflect.Slice:
		values = append(values, reflect.MakeSlice(of, 0, 0), reflect.MakeSlice(of, 1, 1))
		for _, v := range hostileValues(of.Elem()) {
			values = append(values, reflect.Append(reflect.MakeSlice(of, 0, 1), v))
		}
	case reflect.Struct:
		leafFields(of, nil, func(_ string, at []int, kind reflect.Type) {
			for _, v := range hostileValues(kind) {
				s := reflect.New(of).Elem()
				s.FieldByIndex(at).Set(v)
				values = append(values, s)
			}
		})
	case reflect.Bool:
		add(true)
	case reflect.String:
		add("\x00", "/dev/null", "/dev/null/at\nall", strings.Repeat("x", 5000))
	case reflect.Float64:
		add(-1.0, 0.0, 1.0, math.MaxFloat64, math.SmallestNonzeroFloat64, math.NaN(), math.Inf(1), math.Inf(-1))
	case reflect.Int, reflect.Int64, reflect.Int32:
		add(-1, 0, 1, 2, math.MaxInt32, math.MaxInt, math.MinInt) // those that do not fit become others
	case reflect.Uint64, reflect.Uint32, reflect.Uint16, reflect.Uint8:
		add(0, 1, 2, math.MaxInt, -1)
	}
	return values
}

// TestAnyValueOfAnOption ends soon with the result, or is refused in one line.
func TestAnyValueOfAnOption(t *testing.T) {
	t.Chdir(t.TempDir())
	ordered, err := sort.New(sort.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in, temp := input(t, strings.Repeat("b a\na c\n", 200)), t.TempDir()
	for want, chain := range map[string]jobs.Chain{
		"a\t400\nb\t200\nc\t200\n": counting(t), strings.Repeat("a c\n", 200) + strings.Repeat("b a\n", 200): ordered,
	} {
		if chain[0].Name == "sort" && !testkit.Long() {
			continue
		}
		leafFields(reflect.TypeFor[mrlocal.Options](), nil, func(name string, at []int, kind reflect.Type) {
			for i, v := range hostileValues(kind) {
				var out bytes.Buffer
				o := mrlocal.Options{JobOptions: in, Config: mrlocal.Config{MapSlots: 1, ReduceSlots: 1}, MemoryBytes: 64 << 20, Stderr: io.Discard, TempDirs: []string{temp}}
				o.Stdout = &out
				reflect.ValueOf(&o).Elem().FieldByIndex(at).Set(v)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				_, err := mrlocal.RunChain(ctx, chain, o)
				late := ctx.Err()
				cancel()
				switch {
				case err == nil && (out.String() == want || out.Len() == 0 && (o.OutputDir != "" || o.OutputFile != "")):
				case name == "CompressOutput" && err == nil || name == "Faults" && err != nil && strings.Contains(err.Error(), "every tracker is lost"):
				case !errors.Is(err, mrlocal.ErrBadOptions) && !errors.Is(err, mrlocal.ErrBadInput) || late != nil || strings.ContainsAny(err.Error(), "\n\x00"):
					t.Errorf("%s %s, value %d: %.300v, result %.80q", chain[0].Name, name, i, err, &out)
				}
			}
		})
	}
}
