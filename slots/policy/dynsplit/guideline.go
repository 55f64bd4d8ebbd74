package dynsplit

// This file has the guideline for the number of slots [Split11, guideline] and the
// measures of the paper's evaluation [Split11, evaluation]. P is the number of tasks
// [Split11, "number of tasks"]. Avg_k is the mean time of a task when k run at a time,
// in seconds or any other unit.

// Gain returns Gain_m = (Avg_n - Avg_m) · P/n, the time that m slots gain over n > m slots,
// because each task is shorter [Split11, guideline].
func Gain(avgM, avgN float64, n, tasks int) float64 {
	return (avgN - avgM) * float64(tasks) / float64(n)
}

// Lose returns Lose_m = (P/m - P/n) · Avg_m, the time that m slots lose to n > m slots, because
// there are more waves of tasks [Split11, guideline].
func Lose(avgM float64, m, n, tasks int) float64 {
	return (float64(tasks)/float64(m) - float64(tasks)/float64(n)) * avgM
}

// Fewer reports whether m slots are better than n > m: Gain_m > Lose_m, which is
// Avg_n/n > Avg_m/m [Split11, guideline].
func Fewer(avgM, avgN float64, m, n int) bool {
	return avgN/float64(n) > avgM/float64(m)
}

// Best returns the number of slots k that the guideline leads to: the k with the least Avg_k/k,
// and of several the least k. avg[k-1] is Avg_k; avg must not be empty.
func Best(avg []float64) int {
	best := 1
	for k := 2; k <= len(avg); k++ {
		if avg[k-1]/float64(k) < avg[best-1]/float64(best) {
			best = k
		}
	}
	return best
}

// ThroughputGain returns I = t_raw/t_new - 1, for the same number of jobs in both times [Split11,
// "equal job counts"].
func ThroughputGain(raw, changed float64) float64 { return raw/changed - 1 }

// WallReduction returns r_i = (t_1 - t_2)/t_1 of a job [Split11, evaluation].
func WallReduction(raw, changed float64) float64 { return (raw - changed) / raw }

// MeanWallReduction returns r_ave = 1/n Σ r_i [Split11, evaluation]. raw and changed have the
// times of the n jobs in the same order.
func MeanWallReduction(raw, changed []float64) float64 {
	var sum float64
	for i := range raw {
		sum += WallReduction(raw[i], changed[i])
	}
	return sum / float64(len(raw))
}
