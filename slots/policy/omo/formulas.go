package omo

import "math"

// The formulas of seed 004, section IV, with seconds as the unit of time. Every
// product is rounded by itself (float64), so that all processors agree.

// estimatedFrequency is equation (1): F_e = F_o · A_e / A_o, the containers that
// will be released a second when availableThen are available instead of
// available. 0 where none would be (A50).
func estimatedFrequency(observed, availableThen, available float64) float64 {
	if availableThen <= 0 || available <= 0 {
		return 0
	}
	return observed * availableThen / available
}

// shareFrequency is F_e of equation (3): F_o · (A_o - r) / (A_o · D), what a job
// of D gets once its reduces hold a container each. With D = 1 and A_o = S it is
// that of equation (2).
func shareFrequency(observed, available float64, reduces int32, jobs int) float64 {
	return estimatedFrequency(observed, available-float64(reduces), available) / float64(max(jobs, 1))
}

// shuffleTime is T_s = d·m / (B·r). B is what one reduce copies a second (A53).
func shuffleTime(mapOutput float64, maps int32, bandwidth float64, reduces int32) float64 {
	if bandwidth <= 0 || reduces == 0 {
		return 0
	}
	return mapOutput * float64(maps) / float64(bandwidth*float64(reduces))
}

// gap is β(x) = T_s - (x/F_e + T_m), equations (2) and (3): from the end of the
// map phase to the end of the shuffle, where the reduces start with x maps
// pending.
func gap(shuffle, mapTime, frequency float64, pending int32) float64 {
	maps := mapTime
	if pending > 0 {
		maps += float64(pending) / frequency
	}
	return shuffle - maps
}

// aligned is x* = max(0, (T_s - T_m) · F_e), where β is 0: with so many maps
// pending the shuffle ends with the map phase (A49, A50).
func aligned(shuffle, mapTime, frequency float64) float64 {
	return max(0, (shuffle-mapTime)*frequency)
}

// startsNow is the rule of lazy start, corrected (A49): to wait for fewer pending
// maps would not bring β nearer to 0,
//
//	|β(m')| <= min over 0 <= x < m' of |β(x)|, which is m' <= x* + 1/2
//
// The paper takes the least signed β over x from m' to m. That falls with x all
// the way: as printed, reduces start at once or never.
func startsNow(pending int32, alignedAt float64) bool {
	return float64(pending) <= math.Floor(alignedAt+0.5)
}

// fairTime is equation (4): t_fair = K·m'/F_o + T_m, when the map phase of one
// of K jobs ends that take turns.
func fairTime(observed, mapTime float64, jobs int, pending int32) float64 {
	return float64(jobs)*float64(pending)/observed + mapTime
}

// othersGet is s: the containers that the other jobs get in that time.
func othersGet(observed, fair float64, jobs int) float64 {
	return observed * float64(jobs-1) / float64(jobs) * fair
}

// batchTime is t_batch, corrected (A54): the time until the job has its maps done
// in one go and the others have had the same s containers,
//
//	m'/F_o + T_m + max(0, s - F_o·T_m) · A_o / (F_o·(A_o + r))
//
// The paper's equation (5) leaves the first two terms out, and its test holds
// always then.
func batchTime(observed, mapTime, available float64, pending, reduces int32, others float64) float64 {
	batch := float64(pending)/observed + mapTime
	owed := max(0, others-float64(observed*mapTime))
	return batch + float64(owed*available/float64(observed*float64(available+float64(reduces))))
}

// oneWave is the paper's intuition of when a batch pays, which the corrected test
// needs (A54): enough containers are released within a map's time to take all
// pending maps, m'/F_o <= T_m.
func oneWave(observed, mapTime float64, pending int32) bool {
	return float64(pending) <= float64(observed*mapTime)
}
