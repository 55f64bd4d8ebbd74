package errs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// OfJSON returns an error of package json in words that do not name types of Go. It returns the text of
// any other error.
func OfJSON(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &syntax) && strings.HasPrefix(err.Error(), "unexpected end"):
		return "the JSON is cut short"
	case errors.As(err, &syntax):
		return "is not valid JSON"
	case errors.As(err, &kind):
		expected := "a number"
		switch kind.Type.Kind().String() {
		case "struct", "map":
			expected = "an object"
		case "slice":
			expected = "a list"
		case "string":
			expected = "a text"
		case "bool":
			expected = "true or false"
		}
		where := ""
		if kind.Field != "" {
			where = "field " + shortened(kind.Field) + ": "
		}
		got, ok := map[string]string{"array": "a list", "object": "an object", "string": "a text", "bool": "true or false"}[kind.Value]
		if !ok {
			got = "the " + shortened(kind.Value)
		}
		return fmt.Sprintf("%s%s is expected, not %s", where, expected, got)
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "the field " + shortened(field) + " is unknown"
	}
	return err.Error()
}

// shortened returns a text in one line, cut after 40 characters.
func shortened(text string) string { return fmt.Sprintf("%.40s", OneLine(text)) }
