package export_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"mrlocal/internal/testkit"
	"mrlocal/view/export"
	"mrlocal/view/viewtest"
)

// TestTablesOfAllSigns compares all tables of a small model.
func TestTablesOfAllSigns(t *testing.T) {
	for _, table := range export.Tables() {
		var b bytes.Buffer
		if err := table.Write(&b, viewtest.AllSigns()); err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, "testdata/"+table.Name, b.Bytes())
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAWriterThatFailsIsReported(t *testing.T) {
	for _, table := range export.Tables() {
		if err := table.Write(failing{}, viewtest.AllSigns()); err == nil || !strings.Contains(err.Error(), table.Name) {
			t.Errorf("%s: %v", table.Name, err)
		}
	}
}

// placed is a workload with a placement of input. One tracker holds the input of more maps than its
// even share.
const placed = `
cluster: {trackers: 6, map_slots: 4, reduce_slots: 1}
locality: {replicas: 1}
slow: [{tracker: 1, factor: 0.2}]
jobs:
  - {name: a, maps: 9, reduces: 3, map_time: 10s, reduce_time: 8s}
  - {name: b, submit: 3s, maps: 8, reduces: 2, map_time: 15s, reduce_time: 8s}
`

// The last rows of all pools together have the counters of the report.
func TestCountersEndAsTheReportHasThem(t *testing.T) {
	seen := map[string]bool{} // columns that were not 0
	for _, run := range append(viewtest.Runs(), viewtest.Run{Name: "placed", Policy: "dynamicmr", Cost: "l0", Workload: placed}) {
		t.Run(run.Name, func(t *testing.T) {
			r := run.Simulate(t)
			want := map[string]int64{}
			for i := range r.Report.Jobs {
				text, err := json.Marshal(&r.Report.Jobs[i].Counters)
				if err != nil {
					t.Fatal(err)
				}
				var of map[string]int64
				if err := json.Unmarshal(text, &of); err != nil {
					t.Fatal(err)
				}
				for name, n := range of {
					want[name] += n
				}
			}
			var b bytes.Buffer
			if err := export.CounterTable(&b, r.Model); err != nil {
				t.Fatal(err)
			}
			rows, err := csv.NewReader(&b).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			last := rows[len(rows)-1][0]
			for column, name := range rows[0] {
				if strings.ToUpper(name) != name {
					continue
				}
				sum := int64(0)
				for _, row := range rows[1:] {
					n, err := strconv.ParseInt(row[column], 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					if row[0] == last {
						sum += n
					}
				}
				if seen[name] = seen[name] || sum > 0; sum != want[name] {
					t.Errorf("%s is %d at the end, %d in the report", name, sum, want[name])
				}
			}
		})
	}
	for _, name := range []string{
		"TOTAL_LAUNCHED_MAPS", "SPECULATIVE_MAPS", "SPECULATIVE_REDUCES", "PRESCHEDULED_MAPS", "FAILED_MAPS", "KILLED_MAPS",
		"KILLED_REDUCES", "SLOTS_MILLIS_REDUCES", "BORROWED_MAP_SLOT_MILLIS", "BORROWED_REDUCE_SLOT_MILLIS",
	} {
		if !seen[name] {
			t.Errorf("no run has %s, so nothing is compared", name)
		}
	}
}
