// Package tune finds the numbers of slots for a job by Dynamic Split's guideline
// (mrlocal tune; seed 002, SPEC 4.3 S9): it has the job run with k = 1, 2, ...
// slots, takes Avg_k, the mean time of a task where k run at a time, and leads to
// the k with the least Avg_k/k.
//
// The guideline is the paper's for its limits of reduces: in total, in their
// shuffle, in their sort and compute. Here it chooses map slots as well. Avg_k is
// measured in the raw version, under a policy that lends no slots, as the paper
// says. The number of tasks P is the same in all runs, and a tracker never has more
// slots than tasks: else k of them would not run at a time.
//
// Measure is pure: it is handed what makes a run, which Job does with the engine.
// Times listens to a run and belongs to it. Neighbours: cmd/mrlocal reads the flags,
// slots/policy/dynsplit has the formulas.
package tune
