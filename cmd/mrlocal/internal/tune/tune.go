package tune

import "mrlocal/report"

// Setting is what a run is to be made with. Slots are a tracker's; 0: as it comes.
type Setting struct {
	MapSlots, ReduceSlots int
	Reducers              int
	BlockBytes            int64
}

// String names the slots that are set.
func (s Setting) String() string {
	if s.ReduceSlots == 0 {
		return count(s.MapSlots, "map slot")
	}
	return count(s.MapSlots, "map slot") + ", " + count(s.ReduceSlots, "reduce slot")
}

// Run is what a run of the job showed.
type Run struct {
	Report *report.Report
	Times  *Times
}

// Options say what is to be measured.
type Options struct {
	MapSlots, ReduceSlots int   // up to so many of a tracker
	Reducers              int   // 0: as the job has it
	BlockBytes            int64 // 0: as the job has it
	Rounds                int   // runs with each number of slots

	Make func(Setting) (*Run, error)
	Tell func(done, all int, s Setting) // called before each run but the first
}

// Result is what came out; its JSON is the --report file.
type Result struct {
	Schema     int    `json:"schema"`
	Kind       string `json:"kind"`
	Policy     string `json:"policy"`
	Job        string `json:"job"`
	Trackers   int    `json:"trackers"`
	BlockBytes int64  `json:"block_bytes"`
	Maps       int    `json:"maps"`
	Reduces    int    `json:"reduces"`
	Rounds     int    `json:"rounds"`

	Choices []Choice `json:"choices"`
	Flags   []string `json:"flags"`
}

// Choice is a number of slots that was chosen: the rows of its table.
type Choice struct {
	Flag     string `json:"flag"`
	Measured string `json:"measured"`       // what Avg_k is the mean time of
	Tasks    int    `json:"tasks"`          // P
	Best     int    `json:"best"`           // 0: no bound, the period is too short to matter
	Edge     string `json:"edge,omitempty"` // why the last row is the last
	Rows     []Row  `json:"rows"`
}

// Row is k slots, a tracker, against the best number of them.
type Row struct {
	Slots     int       `json:"slots"`
	AvgS      float64   `json:"avg_s"` // the median of the rounds
	PerSlotS  float64   `json:"avg_per_slot_s"`
	GainS     float64   `json:"gain_s"` // of the fewer slots of the two
	LoseS     float64   `json:"lose_s"`
	Verdict   string    `json:"verdict"`
	MakespanS float64   `json:"makespan_s"`
	RoundsS   []float64 `json:"rounds_s"` // Avg_k of each
}

// negligible is the share of a reduce's time below which a period of it is not
// bounded: its measure is noise.
const negligible = 0.01

// Measure makes the runs. The first, with most slots, shows how many tasks there
// are and has the input read once, so that no number of slots pays for that alone.
func Measure(o Options) (*Result, error) {
	first, err := o.Make(Setting{o.MapSlots, o.ReduceSlots, o.Reducers, o.BlockBytes})
	if err != nil {
		return nil, err
	}
	r := &Result{Schema: 1, Kind: "tune", Policy: first.Report.Policy, Job: first.Report.Jobs[0].Name, Trackers: max(first.Report.Config.Trackers, 1), Rounds: o.Rounds}
	r.BlockBytes = first.Report.Config.BlockBytes
	most := [2]int{}
	for i := range first.Report.Jobs {
		j := &first.Report.Jobs[i]
		r.Maps, r.Reduces = r.Maps+j.Maps, r.Reduces+j.Reduces
		most = [2]int{max(most[0], j.Maps), max(most[1], j.Reduces)}
	}
	held := Setting{Reducers: first.Report.Jobs[0].Reduces, BlockBytes: r.BlockBytes}
	perTracker := func(slots, tasks int) int { return max(1, min(slots, (tasks+r.Trackers-1)/r.Trackers)) }
	mapSlots, reduceSlots := perTracker(o.MapSlots, most[0]), perTracker(o.ReduceSlots, most[1])
	all := o.Rounds * mapSlots
	if r.Reduces > 0 {
		all += o.Rounds * reduceSlots
	}
	s := sweep{o: &o, all: all}

	if err := s.over(mapSlots, func(k int) Setting { held.MapSlots = k; return held }); err != nil {
		return nil, err
	}
	maps := r.choose(s.runs, Maps, o.MapSlots)
	r.Choices = append(r.Choices, maps)
	if r.Reduces == 0 {
		r.recommend()
		return r, nil
	}
	held.MapSlots = maps.Best
	if err := s.over(reduceSlots, func(k int) Setting { held.ReduceSlots = k; return held }); err != nil {
		return nil, err
	}
	for _, p := range []Period{Reduces, Shuffle, Compute} {
		r.Choices = append(r.Choices, r.choose(s.runs, p, o.ReduceSlots))
	}
	r.recommend()
	return r, nil
}

// sweep makes the runs with each number of slots.
type sweep struct {
	o         *Options
	done, all int
	runs      [][]*Run // by slots - 1, then by round
}

// over makes the rounds one after the other, so that what changes meanwhile
// concerns all numbers of slots alike.
func (s *sweep) over(most int, setting func(k int) Setting) error {
	s.runs = make([][]*Run, most)
	for range s.o.Rounds {
		for k := 1; k <= most; k++ {
			at := setting(k)
			s.done++
			s.o.Tell(s.done, s.all, at)
			run, err := s.o.Make(at)
			if err != nil {
				return err
			}
			s.runs[k-1] = append(s.runs[k-1], run)
		}
	}
	return nil
}
