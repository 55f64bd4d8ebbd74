package omo

import "math"

// These are the equations of [OMO21, section IV], with seconds as the unit of time.
// Each product is rounded by itself (float64), so that all processors agree.

// estimatedFrequency is F_e = F_o · A_e / A_o [OMO21, eq. 1]: how many containers are
// released a second when availableThen are available instead of available. It is 0 if
// none would be.
func estimatedFrequency(observed, availableThen, available float64) float64 {
	if availableThen <= 0 || available <= 0 {
		return 0
	}
	return observed * availableThen / available
}

// shareFrequency is F_e = F_o · (A_o - r) / (A_o · D) [OMO21, eq. 3]: what one of D
// active jobs gets once each of its reduces holds a container [OMO21, "active jobs"].
// With D = 1 and A_o = S it is that of [OMO21, eq. 2].
func shareFrequency(observed, available float64, reduces int32, jobs int) float64 {
	return estimatedFrequency(observed, available-float64(reduces), available) / float64(max(jobs, 1))
}

// shuffleTime is T_s = d·m / (B·r), where B is what one reduce copies a second
// [OMO21, "shuffle estimate"].
func shuffleTime(mapOutput float64, maps int32, bandwidth float64, reduces int32) float64 {
	if bandwidth <= 0 || reduces == 0 {
		return 0
	}
	return mapOutput * float64(maps) / float64(bandwidth*float64(reduces))
}

// gap is β(x) = T_s - (x/F_e + T_m) [OMO21, eq. 2-3]: the time from the end of the map
// phase to the end of the shuffle if the reduces start with x maps pending.
func gap(shuffle, mapTime, frequency float64, pending int32) float64 {
	maps := mapTime
	if pending > 0 {
		maps += float64(pending) / frequency
	}
	return shuffle - maps
}

// aligned is x* = max(0, (T_s - T_m) · F_e), where β is 0: with so many maps pending
// the shuffle ends with the map phase [OMO21, "negative start point"].
func aligned(shuffle, mapTime, frequency float64) float64 {
	return max(0, (shuffle-mapTime)*frequency)
}

// startsNow is the rule of lazy start, corrected: reduces start if β comes no nearer
// to 0 by waiting for fewer pending maps,
//
//	|β(m')| <= min over 0 <= x < m' of |β(x)|, which is m' <= x* + 1/2
//
// The paper takes the least signed β over x from m' to m. It always falls with x, so
// reduces would start at once or never [OMO21, "signed argmin"].
func startsNow(pending int32, alignedAt float64) bool {
	return float64(pending) <= math.Floor(alignedAt+0.5)
}

// fairTime is t_fair = K·m'/F_o + T_m [OMO21, eq. 4]: when the map phase of one of K
// jobs ends if they take turns.
func fairTime(observed, mapTime float64, jobs int, pending int32) float64 {
	return float64(jobs)*float64(pending)/observed + mapTime
}

// othersGet is s, the containers that the other jobs get in t_fair [OMO21, section
// IV-D].
func othersGet(observed, fair float64, jobs int) float64 {
	return observed * float64(jobs-1) / float64(jobs) * fair
}

// batchTime is t_batch [OMO21, eq. 5], corrected: the time until the job has finished
// its maps in one batch and the others have had the same s containers,
//
//	m'/F_o + T_m + max(0, s - F_o·T_m) · A_o / (F_o·(A_o + r))
//
// The paper leaves the first two terms out; its test then always holds [OMO21, "batch
// time"].
func batchTime(observed, mapTime, available float64, pending, reduces int32, others float64) float64 {
	batch := float64(pending)/observed + mapTime
	owed := max(0, others-float64(observed*mapTime))
	return batch + float64(owed*available/float64(observed*float64(available+float64(reduces))))
}

// oneWave reports whether enough containers are released within a map's time to take
// all pending maps, m'/F_o <= T_m. It is the paper's intuition of when a batch pays,
// and the corrected test needs it [OMO21, "one wave"].
func oneWave(observed, mapTime float64, pending int32) bool {
	return float64(pending) <= float64(observed*mapTime)
}
