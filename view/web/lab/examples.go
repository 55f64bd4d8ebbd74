package lab

import "embed"

//go:embed examples
var exampleFiles embed.FS

// Example is a workload file that the playground offers.
type Example struct {
	Name     string   `json:"name"` // also the name of the embedded file
	Title    string   `json:"title"`
	About    string   `json:"about"` // a hint what to look at
	Policies []string `json:"policies"`
	Cost     string   `json:"cost,omitempty"` // cost level; "": l0
	Workload string   `json:"workload"`       // the text of the file
}

// examples returns the examples, the smallest first. A simulation of one takes milliseconds.
func examples() ([]Example, error) {
	all := []Example{
		{"borrow", "One job, an idle slot",
			"Under fair the reduce slot waits for the maps. Under pi-dhfs it is lent to them: look for the hatch.",
			[]string{"fair", "pi-dhfs"}, "", ""},
		{"fig5", "Fig. 5a and 5b: PI against PD",
			"Fig. 5a, pi-dhfs, shares each phase between the pools. Fig. 5b, pd-dhfs, shares all slots between the pools. Compare the curves of both.",
			[]string{"pi-dhfs", "pd-dhfs"}, "", ""},
		{"table1", "Table I: five jobs on nine nodes",
			"The first five jobs of Table I of the DHFS paper. fair takes 1020 s, pi-dhfs and pd-dhfs 520 s.",
			[]string{"fair", "pi-dhfs", "pd-dhfs"}, "", ""},
		{"starving", "A starving pool",
			"prod is promised two map slots and gets them back after 10 s: batch's newest maps are killed (hollow, with a cross).",
			[]string{"fair", "fifo"}, "", ""},
		{"deadline", "A deadline",
			"Under fair urgent is done at 260 s and misses its deadline of 230 s. ras gives it just as many slots as it needs, and first has time to spare.",
			[]string{"fair", "ras"}, "", ""},
		{"straggler", "A straggler",
			"Tracker 2 works at a fifth of the speed. late and dynamicmr start copies of its tasks (dashed outline); the loser is killed.",
			[]string{"fair", "late", "dynamicmr"}, "", ""},
		{"overlap", "Overlap of map and reduce phases",
			"omo starts reduces late enough that they do not hold slots idle, and gives the last maps of a job priority.",
			[]string{"fair", "omo"}, "l1", ""},
		{"spill", "Spills of a kvbuffer",
			"Strips at the foot of maps are spills; the tab kvbuffers shows them, too. A kvbuffer of 120MB needs none: change start.",
			[]string{"fair", "pi-dhfs"}, "l2", ""},
	}
	for i := range all {
		text, err := exampleFiles.ReadFile("examples/" + all[i].Name + ".yaml")
		if err != nil {
			return nil, err
		}
		all[i].Workload = string(text)
	}
	return all, nil
}
