package measure

import "mrlocal/report"

// setting is what distinguishes the runs. Slots are those of one tracker. 0
// leaves the choice to the engine.
type setting struct {
	MapSlots, ReduceSlots int
	Reducers              int
	BlockBytes            int64
}

// String names the slots that are set.
func (s setting) String() string {
	if s.ReduceSlots == 0 {
		return count(s.MapSlots, "map slot")
	}
	return count(s.MapSlots, "map slot") + ", " + count(s.ReduceSlots, "reduce slot")
}

// run is the outcome of one run.
type run struct {
	report *report.Report
	times  *taskTimes
}

// series is a series of runs.
type series struct {
	most   setting // the most slots that are tried
	rounds int     // runs with each number of slots
	make   func(setting) (*run, error)
	tell   func(done, all int, s setting) // called before each run but the first

	// done and all count the runs for tell. The first run, which is not measured, is in neither.
	done, all int
	runs      [][]*run // by slots - 1, then by round
}

// Result is the outcome of Tune. Its JSON is the --report file.
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

// Choice is one number of slots that was chosen, with the table of the candidates.
type Choice struct {
	Flag     string `json:"flag"`
	Measured string `json:"measured"`       // the period whose mean time is Avg_k
	Tasks    int    `json:"tasks"`          // P
	Best     int    `json:"best"`           // 0: no bound, because the period is too short to matter
	Edge     string `json:"edge,omitempty"` // why there are no more rows
	Rows     []Row  `json:"rows"`
}

// Row compares k slots of a tracker with the best number of them.
type Row struct {
	Slots     int       `json:"slots"`
	AvgS      float64   `json:"avg_s"` // Avg_k in seconds, the median of the rounds
	PerSlotS  float64   `json:"avg_per_slot_s"`
	GainS     float64   `json:"gain_s"` // Gain_m and Lose_m of the fewer slots m of the two
	LoseS     float64   `json:"lose_s"`
	Verdict   string    `json:"verdict"`
	MakespanS float64   `json:"makespan_s"`
	RoundsS   []float64 `json:"rounds_s"` // Avg_k of each round
}

// negligible is a share of the time of a reduce. A shorter period gets no bound,
// because its measure is noise.
const negligible = 0.01

// tune makes the runs and chooses. The first run, with most slots, shows how
// many tasks there are. It also reads the input once, so that no number of slots
// pays alone for a cold cache; its times do not count.
func tune(s *series) (*Result, error) {
	first, err := s.make(s.most)
	if err != nil {
		return nil, err
	}
	r := &Result{Schema: 1, Kind: "tune", Policy: first.report.Policy, Job: first.report.Jobs[0].Name, Trackers: max(first.report.Config.Trackers, 1), Rounds: s.rounds}
	r.BlockBytes = first.report.Config.BlockBytes
	// A chain runs its jobs one after the other, so the slots are bounded by the largest number
	// of tasks of one job.
	most := [2]int{}
	for i := range first.report.Jobs {
		j := &first.report.Jobs[i]
		r.Maps, r.Reduces = r.Maps+j.Maps, r.Reduces+j.Reduces
		most = [2]int{max(most[0], j.Maps), max(most[1], j.Reduces)}
	}
	// All later runs have the tasks of the first one. Otherwise a change of slots would change
	// P.
	held := setting{Reducers: first.report.Jobs[0].Reduces, BlockBytes: r.BlockBytes}
	// More slots than tasks would leave some idle, and Avg_k would not be a time with k tasks.
	perTracker := func(slots, tasks int) int { return max(1, min(slots, (tasks+r.Trackers-1)/r.Trackers)) }
	mapSlots, reduceSlots := perTracker(s.most.MapSlots, most[0]), perTracker(s.most.ReduceSlots, most[1])
	// Each number of slots has its rounds, first of maps and then of reduces.
	s.all = s.rounds * mapSlots
	if r.Reduces > 0 {
		s.all += s.rounds * reduceSlots
	}

	if err := s.over(mapSlots, func(k int) setting { held.MapSlots = k; return held }); err != nil {
		return nil, err
	}
	// The runs of one dimension are dropped before the next one begins.
	maps := r.choose(s.runs, maps, s.most.MapSlots)
	r.Choices = append(r.Choices, maps)
	if r.Reduces == 0 {
		r.recommend()
		return r, nil
	}
	// The reduces are measured beside the best number of map slots, as they will run.
	held.MapSlots = maps.Best
	if err := s.over(reduceSlots, func(k int) setting { held.ReduceSlots = k; return held }); err != nil {
		return nil, err
	}
	for _, p := range []period{reduces, shuffle, compute} {
		r.Choices = append(r.Choices, r.choose(s.runs, p, s.most.ReduceSlots))
	}
	r.recommend()
	return r, nil
}

// over makes the runs with 1 to most slots. It makes one round after the other:
// what changes on the machine meanwhile then concerns all numbers of slots alike.
func (s *series) over(most int, with func(k int) setting) error {
	s.runs = make([][]*run, most)
	for range s.rounds {
		for k := 1; k <= most; k++ {
			at := with(k)
			s.done++
			s.tell(s.done, s.all, at)
			run, err := s.make(at)
			if err != nil {
				return err
			}
			s.runs[k-1] = append(s.runs[k-1], run)
		}
	}
	return nil
}
