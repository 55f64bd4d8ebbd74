package term

import (
	"strings"
	"testing"

	"mrlocal/internal/testkit"
	"mrlocal/slots/report"
)

func TestTheTableShowsARun(t *testing.T) {
	r := &report.Report{
		Policy: "pi-dhfs", MakespanSeconds: 1.92, Utilisation: 0.92, Moves: 5, LentSlotSeconds: 0.71, PeakRSSBytes: 93 << 20,
		Slots: make([]report.Slot, 2),
		Jobs: []report.JobReport{
			{Name: "grep", Maps: 12, Reduces: 1, StartS: 0.001, MapsDoneS: 1.8, FinishS: 1.85,
				Counters: report.Counters{MapInputBytes: 256 << 20, MapInputRecords: 3_200_000, ReduceOutputRecords: 45_000, SpilledBytes: 1 << 20}},
			{Name: "grep-order", Maps: 1, SubmitS: 1.85, StartS: 1.85, MapsDoneS: 1.91, FinishS: 1.92,
				Counters: report.Counters{MapInputRecords: 45_000}},
		},
	}
	testkit.Golden(t, "testdata/table.txt", []byte(table(r, 120)))
	testkit.Golden(t, "testdata/table-empty.txt", []byte(table(&report.Report{Policy: "fair"}, 120)))
}

func TestTheTableOfManyJobsIsCut(t *testing.T) {
	r := &report.Report{Policy: "fair", Kind: "batch", MakespanSeconds: 2, Jobs: make([]report.JobReport, 60)}
	for i := range r.Jobs {
		r.Jobs[i].Counters.MapInputBytes = 1 << 20
	}
	text := table(r, 120)
	if lines := strings.Count(text, "\n"); lines != 1+mostRows+2 || !strings.Contains(text, "\nand 10 more jobs, which --report lists\n") || !strings.Contains(text, "(30 MiB/s)") {
		t.Errorf("%d lines:\n%s", lines, text)
	}
}

func TestOneMoveIsNotSeveral(t *testing.T) {
	if one, two := summary(&report.Report{Moves: 1}), summary(&report.Report{Moves: 2}); !strings.Contains(one, " 1 move,") || !strings.Contains(two, " 2 moves,") {
		t.Errorf("%s, %s", one, two)
	}
}
