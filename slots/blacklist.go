package slots

import "mrlocal/trace"

// This file keeps the trackers on which attempts failed. From these it derives which
// trackers a job avoids, and which trackers all jobs avoid.
//
// A tracker on which too many attempts of a job failed gets no more tasks of the job.
// This holds as long as such trackers are less than a quarter of the cluster (Hadoop
// 1.0.3, JobInProgress.addTrackerTaskFailure). A tracker that several jobs blacklisted is
// on the graylist (Hadoop 1.0.3, JobTracker.FaultyTrackersInfo). Hadoop 1.0.3 still gives
// tasks to such a tracker. Hadoop 0.20.2 takes it out of service, and the Ledger does too
// [Hadoop, "graylist out of service"].
//
// The package is pure; a jobFailures and a Cluster own a few words for each failure. Trackers and
// tasks are numbers from 0.

// jobFailures counts the failed attempts of one job by tracker and by task. The zero value has
// no failure. No result depends on the order of its maps.
type jobFailures struct {
	at    map[int32]int32        // number of failed attempts by tracker
	flaky int32                  // number of faulty trackers
	tasks map[failedTask][]int32 // trackers by task, one entry per failed attempt, oldest first
}

// failedTask names a task of the job of which an attempt failed.
type failedTask struct {
	kind trace.Kind
	task int32
}

// Failed counts a failed attempt of task n of kind k on a tracker. A tracker with most or more
// failed attempts of the job is faulty. All calls for a job have the same most.
func (j *jobFailures) Failed(k trace.Kind, n, tracker, most int32) {
	if j.at == nil {
		j.at, j.tasks = map[int32]int32{}, map[failedTask][]int32{}
	}
	if j.at[tracker]++; j.at[tracker] == most {
		j.flaky++
	}
	j.tasks[failedTask{k, n}] = append(j.tasks[failedTask{k, n}], tracker)
}

// faulty reports whether most or more attempts of the job failed on a tracker.
func (j *jobFailures) faulty(tracker, most int32) bool { return j.flaky > 0 && j.at[tracker] >= most }

// mostBlacklists is how many jobs blacklist a tracker before it may be graylisted
// (Hadoop 1.0.3, mapred.max.tracker.blacklists).
const mostBlacklists = 4

// clusterFailures counts, for each tracker, the jobs that blacklisted it. The zero value has counted
// none.
type clusterFailures struct {
	faults []int32 // by tracker; nil: no job had a faulty tracker
	gray   []bool  // by tracker: it is on the graylist
}

// Gray reports whether a tracker is on the graylist.
func (c *clusterFailures) Gray(tracker int32) bool {
	return int(tracker) < len(c.gray) && c.gray[tracker]
}

// Succeeded counts the faulty trackers of a job that has succeeded, one fault each (Hadoop
// 1.0.3, JobTracker.finalizeJob). most is as for Failed, trackers is the size of the cluster.
// lost reports whether a tracker is gone. Succeeded returns the trackers that this job brings
// onto the graylist.
func (c *clusterFailures) Succeeded(j *jobFailures, most int32, trackers int, lost func(tracker int32) bool) (now []int32) {
	if j.flaky == 0 {
		return nil
	}
	if c.faults == nil {
		c.faults, c.gray = make([]int32, trackers), make([]bool, trackers)
	}
	for t := range int32(trackers) {
		if !j.faulty(t, most) {
			continue
		}
		c.faults[t]++
		if !lost(t) && !c.gray[t] && c.exceeds(c.faults[t], lost) {
			c.gray[t] = true
			now = append(now, t)
		}
	}
	return now
}

// Unlist empties the graylist if every tracker that is not on it is lost. Otherwise jobs would
// wait for ever. It returns the trackers that were on the graylist and are not lost. They
// keep their faults.
func (c *clusterFailures) Unlist(lost func(tracker int32) bool) (back []int32) {
	for t := range int32(len(c.gray)) {
		switch {
		case lost(t):
		case c.gray[t]:
			back = append(back, t)
		default:
			return nil
		}
	}
	clear(c.gray)
	return back
}

// exceeds reports whether a tracker with this number of faults goes onto the graylist (Hadoop
// 1.0.3, JobTracker.FaultyTrackersInfo.exceedsFaults). The faults must be at least
// mostBlacklists, and more than 1.5 times those of an average tracker. Less than half of the
// cluster must be on the graylist. Lost trackers do not count.
func (c *clusterFailures) exceeds(faults int32, lost func(tracker int32) bool) bool {
	var sum, size, gray int64
	for t := range int32(len(c.faults)) {
		if lost(t) {
			continue
		}
		size++
		sum += int64(c.faults[t])
		if c.gray[t] {
			gray++
		}
	}
	return faults >= mostBlacklists && 2*int64(faults)*size > 3*sum && 2*gray < size
}
