package dynsplit

// Guideline for the numbers of slots (S9), and the measures of
// the paper's evaluation (S10). P is the number of tasks (A30), avg_k the mean
// time of one where k run at a time; seconds, or any unit.

// Gain is Gain_m = (Avg_n - Avg_m) · P/n, of m slots against n > m: each task is
// shorter.
func Gain(avgM, avgN float64, n, tasks int) float64 {
	return (avgN - avgM) * float64(tasks) / float64(n)
}

// Lose is Lose_m = (P/m - P/n) · Avg_m: there are more waves.
func Lose(avgM float64, m, n, tasks int) float64 {
	return (float64(tasks)/float64(m) - float64(tasks)/float64(n)) * avgM
}

// Fewer reports whether m slots are better than n > m: Gain_m > Lose_m, which is
// Avg_n/n > Avg_m/m.
func Fewer(avgM, avgN float64, m, n int) bool {
	return avgN/float64(n) > avgM/float64(m)
}

// Best is the number of slots k that the guideline leads to: that with the least
// Avg_k/k, of equals the least. avg[k-1] is Avg_k.
func Best(avg []float64) int {
	best := 1
	for k := 2; k <= len(avg); k++ {
		if avg[k-1]/float64(k) < avg[best-1]/float64(best) {
			best = k
		}
	}
	return best
}

// ThroughputGain is I = t_raw/t_new - 1, for as many jobs in both (A25).
func ThroughputGain(raw, changed float64) float64 { return raw/changed - 1 }

// WallReduction is r_i = (t_1 - t_2)/t_1 of a job.
func WallReduction(raw, changed float64) float64 { return (raw - changed) / raw }

// MeanWallReduction is r_ave = 1/n Σ r_i over jobs in the same order.
func MeanWallReduction(raw, changed []float64) float64 {
	var sum float64
	for i := range raw {
		sum += WallReduction(raw[i], changed[i])
	}
	return sum / float64(len(raw))
}
