// Package measure runs a job several times with different numbers of slots and
// throws the results away. A Job has two measurements:
//
//   - Tune (mrlocal tune) finds the numbers of slots for the job, by Dynamic
//     Split's guideline ([Split11]). It takes Avg_k, the mean time of a task
//     while k tasks run at a time, and chooses the k with the least Avg_k/k. The
//     paper chooses limits of reduces so: in total, in their shuffle, and in their
//     sort and compute. Tune chooses map slots in the same way.
//   - Profile (mrlocal profile) says what one task needs of a tracker, for
//     workload files and the policy ras ([RAS11]).
//
// Both measure under a policy that lends no slots, as the papers do. All runs of
// Tune have the same number of tasks P, and a tracker never has more slots than
// it has tasks: otherwise fewer than k tasks would run at a time.
//
// The formulas are in slots/policy/dynsplit; cmd/mrlocal reads the flags.
package measure
