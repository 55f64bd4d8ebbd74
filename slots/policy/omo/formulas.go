package omo

import "math"

// These are the equations of [OMO21, section IV], with seconds as the unit of time.
// Each product is rounded by itself (float64), so that all processors get the same results.

// estimatedFrequency returns F_e = F_o · A_e / A_o [OMO21, eq. 1]: how many containers are
// released per second if availableThen containers are available instead of available. It is 0
// if one of the two is not above 0.
func estimatedFrequency(observed, availableThen, available float64) float64 {
	if availableThen <= 0 || available <= 0 {
		return 0
	}
	return observed * availableThen / available
}

// shareFrequency returns F_e = F_o · (A_o - r) / (A_o · D) [OMO21, eq. 3]. F_e is how many
// released containers per second one of D active jobs gets, once each of its r reduces holds
// a container [OMO21, "active jobs"]. With D = 1 and A_o = S it is the F_e of [OMO21, eq. 2].
func shareFrequency(observed, available float64, reduces int32, jobs int) float64 {
	return estimatedFrequency(observed, available-float64(reduces), available) / float64(max(jobs, 1))
}

// restFrequency returns F_e = F_o · (S/D - r) / A_o [OMO21, "room in the share"]. [OMO21, section
// IV-C] gives each of D jobs S/D of the containers. Once each of a job's r reduces holds one, the
// rest of that share is for its maps. With D = 1 it is the F_e of [OMO21, eq. 2].
func restFrequency(observed, available, containers float64, reduces int32, jobs int) float64 {
	return estimatedFrequency(observed, containers/float64(max(jobs, 1))-float64(reduces), available)
}

// shuffleTime returns T_s = d·m / (B·r) [OMO21, "shuffle estimate"]. B is bandwidth, the bytes
// that one reduce copies per second. d is mapOutput, the bytes of one map's output. T_s is 0 if
// the bandwidth is not known.
func shuffleTime(mapOutput float64, maps int32, bandwidth float64, reduces int32) float64 {
	if bandwidth <= 0 || reduces == 0 {
		return 0
	}
	return mapOutput * float64(maps) / float64(bandwidth*float64(reduces))
}

// gap returns β(x) = T_s - (x/F_e + T_m) [OMO21, eq. 2-3]. It is the time from the end of the
// map phase to that of the shuffle, if the reduces start when x maps are pending.
func gap(shuffle, mapTime, frequency float64, pending int32) float64 {
	maps := mapTime
	if pending > 0 {
		maps += float64(pending) / frequency
	}
	return shuffle - maps
}

// aligned returns x* = max(0, (T_s - T_m) · F_e), at which β is 0 [OMO21, "negative start
// point"]. If the reduces start when this number of maps is pending, the shuffle ends with the map
// phase.
func aligned(shuffle, mapTime, frequency float64) float64 {
	return max(0, (shuffle-mapTime)*frequency)
}

// startsNow is the rule of lazy start, corrected. Reduces start if β would be no nearer to 0
// with fewer pending maps:
//
//	|β(m')| <= min over 0 <= x < m' of |β(x)|, which is m' <= x* + 1/2
//
// The paper takes the least signed β over x from m' to m. The signed β always falls with x,
// so reduces would start at once or never [OMO21, "signed argmin"]. pending is m', alignedAt
// is x*.
func startsNow(pending int32, alignedAt float64) bool {
	return float64(pending) <= math.Floor(alignedAt+0.5)
}

// fairTime returns t_fair = K·m'/F_o + T_m [OMO21, eq. 4]: the time until the map phase of one
// of K jobs ends, if the jobs take turns.
func fairTime(observed, mapTime float64, jobs int, pending int32) float64 {
	return float64(jobs)*float64(pending)/observed + mapTime
}

// othersGet returns s, the number of containers that the other jobs get in t_fair [OMO21,
// section IV-D].
func othersGet(observed, fair float64, jobs int) float64 {
	return observed * float64(jobs-1) / float64(jobs) * fair
}

// batchTime returns t_batch [OMO21, eq. 5], corrected: the time until the job has finished
// its maps in one batch and the others have had the same s containers,
//
//	m'/F_o + T_m + max(0, s - F_o·T_m) · A_o / (F_o·(A_o + r))
//
// The paper lacks the first two terms. Its test t_fair > t_batch then always holds [OMO21,
// "batch time"]. others is s.
func batchTime(observed, mapTime, available float64, pending, reduces int32, others float64) float64 {
	batch := float64(pending)/observed + mapTime
	owed := max(0, others-float64(observed*mapTime))
	return batch + float64(owed*available/float64(observed*float64(available+float64(reduces))))
}

// oneWave reports whether enough containers are released in the time of a map to take all
// pending maps, m'/F_o <= T_m. By the paper's intuition a batch pays then, and the corrected
// test needs this condition [OMO21, "one wave"].
func oneWave(observed, mapTime float64, pending int32) bool {
	return float64(pending) <= float64(observed*mapTime)
}
