package tables_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"mrlocal/internal/golden"
	"mrlocal/view/tables"
	"mrlocal/view/viewtest"
)

// TestTablesOfAllSigns compares all tables of a small model.
func TestTablesOfAllSigns(t *testing.T) {
	for _, table := range tables.Tables() {
		var b bytes.Buffer
		if err := table.Write(&b, viewtest.AllSigns()); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "testdata/"+table.Name, b.Bytes())
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAWriterThatFailsIsReported(t *testing.T) {
	for _, table := range tables.Tables() {
		if err := table.Write(failing{}, viewtest.AllSigns()); err == nil || !strings.Contains(err.Error(), table.Name) {
			t.Errorf("%s: %v", table.Name, err)
		}
	}
}
