package errs

import (
	"cmp"
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
		words := map[string]string{"struct": "an object", "map": "an object", "object": "an object", "slice": "a list", "array": "a list", "string": "a text", "bool": "true or false"}
		expected, got := cmp.Or(words[kind.Type.Kind().String()], "a number"), cmp.Or(words[kind.Value], "the "+shortened(kind.Value))
		where := ""
		if kind.Field != "" {
			where = "field " + shortened(kind.Field) + ": "
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
