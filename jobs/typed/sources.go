package typed

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
)

// Source makes, for each attempt, a function that calls each with the values of a block, until each fails. It returns
// the error of each, or of a record that is no value.
type Source[In any] func() func(b jobs.Block, each func(In) error) error

// Lines is a Source of lines, without their newlines.
func Lines() func(b jobs.Block, each func(string) error) error {
	return func(b jobs.Block, each func(string) error) error {
		text, at := textOf(b.Data), 0
		for line := range b.Lines() { // which tells the place of a line in errors
			if err := each(text[at : at+len(line)]); err != nil {
				return err
			}
			at += len(line) + 1
		}
		return nil
	}
}

// JSON is a Source of values that stand as JSON on a line each. Empty lines are left out. Package encoding/json
// says what a tag of a field means.
func JSON[In any]() func(b jobs.Block, each func(In) error) error {
	lines := Lines()
	return func(b jobs.Block, each func(In) error) error {
		return lines(b, func(line string) error {
			var in In
			if strings.TrimSpace(line) == "" {
				return nil
			}
			if err := json.Unmarshal([]byte(line), &in); err != nil {
				return err
			}
			return each(in)
		})
	}
}

// CSV returns a Source of structs, whose fields are columns of comma-separated values (RFC 4180), in their order. A
// tag such as `csv:"3"` names another column, from 1 on. header leaves out the first line of each file. Records are
// lines: a value has no newline.
func CSV[In any](comma byte, header bool) Source[In] {
	return func() func(b jobs.Block, each func(In) error) error {
		lines, values := Lines(), must(newCodec[In]())
		var columns []*cell // by number; nil: not used
		for i := range values.cells {
			n := columnOf(values, i)
			columns = append(columns, make([]*cell, max(0, n-len(columns)))...)
			columns[n-1] = &values.cells[i]
		}
		parse := func(line string) error {
			rest, more, quoted := line, true, []string(nil) // quoted has all columns of a line with quotes
			for i, one := range columns {
				if rest != "" && rest[0] == '"' && quoted == nil {
					r := csv.NewReader(strings.NewReader(line))
					r.Comma = rune(comma)
					var err error
					if quoted, err = r.Read(); err != nil {
						return err
					}
				}
				text, n := rest, strings.IndexByte(rest, comma)
				switch {
				case i < len(quoted):
					text = quoted[i]
				case quoted != nil || !more:
					return fmt.Errorf("has no column %d", i+1)
				case n >= 0:
					text, rest = rest[:n], rest[n+1:]
				default:
					more = false
				}
				if one != nil {
					if err := one.parse(text); err != nil {
						return err
					}
				}
			}
			return nil
		}
		return func(b jobs.Block, each func(In) error) error {
			skip := header && b.Offset == 0
			return lines(b, func(line string) error {
				if skip || line == "" {
					skip = false
					return nil
				}
				if err := parse(strings.TrimSuffix(line, "\r")); err != nil {
					return fmt.Errorf("the line %s: %w", errs.Quote(line), err)
				}
				return each(*values.v)
			})
		}
	}
}

// columnOf returns the number of the column of a cell, from 1 on.
func columnOf[In any](values *codec[In], i int) int {
	t := reflect.TypeFor[In]()
	tag := ""
	if t.Kind() == reflect.Struct && t.NumField() == values.fields {
		tag = t.Field(values.cells[i].field).Tag.Get("csv")
	}
	if tag == "" {
		return i + 1
	}
	n, err := strconv.Atoi(tag)
	if err != nil || n < 1 {
		panic(jobs.Mistakef("typed.CSV: %v: the tag csv:%q: must be the number of a column, from 1 on", t, tag))
	}
	return n
}

// results is a Source of the results of the job before.
func results[In any]() func(b jobs.Block, each func(In) error) error {
	ins := must(newCodec[In]())
	return func(b jobs.Block, each func(In) error) error {
		for _, value := range b.Pairs() {
			if err := each(ins.decode(value)); err != nil {
				return err
			}
		}
		return nil
	}
}
