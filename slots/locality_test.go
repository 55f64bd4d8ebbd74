package slots

import (
	"testing"

	"pgregory.net/rapid"
)

// homes returns the trackers that have an input, from the levels of all trackers.
func homes(p *Placement, job, task int32) (at []int32) {
	for tracker := range p.Trackers {
		if new(mapIndex).Level(p, job, task, tracker) == LevelTracker {
			at = append(at, tracker)
		}
	}
	return at
}

func drawPlacement(t *rapid.T) Placement {
	return Placement{
		Seed:          rapid.Uint64().Draw(t, "seed"),
		Trackers:      rapid.Int32Range(1, 12).Draw(t, "trackers"),
		Replicas:      rapid.Int32Range(1, 4).Draw(t, "replicas"),
		GroupTrackers: rapid.Int32Range(0, 4).Draw(t, "group"),
	}
}

func TestEveryInputIsOnAsManyTrackersAsThereAreReplicas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlacement(t)
		task := rapid.Int32Range(0, 1<<20).Draw(t, "task")
		if got, want := len(homes(&p, 3, task)), int(min(p.Replicas, p.Trackers)); got != want {
			t.Fatalf("on %d trackers, want %d", got, want)
		}
	})
}

// TestTheNearestIsWhatALookAtAllMapsFinds checks Nearest against a search of all maps. In any
// state, also after maps became pending again, it returns the first startable map of the best
// level.
func TestTheNearestIsWhatALookAtAllMapsFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlacement(t)
		const job = 5
		m := &jobSide{}
		var x mapIndex
		total := int32(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				total += rapid.Int32Range(0, 6).Draw(t, "more maps")
				x.Add(&p, job, total)
				m.ready = rapid.Int32Range(m.ready, total).Draw(t, "ready")
			case 1:
				if m.ready > 0 {
					task := rapid.Int32Range(0, m.ready-1).Draw(t, "again")
					if at := m.task(TaskID(task)); at.state == taskRunning {
						at.state = taskPending
						x.Again(&p, job, task)
					}
				}
			default:
				tracker := rapid.Int32Range(0, p.Trackers-1).Draw(t, "tracker")
				task, level := x.Nearest(&p, tracker, m)
				want, wantLevel := NoTask, LevelAny
				for i := range m.ready {
					if l := x.Level(&p, job, i, tracker); m.Startable(i) && l > wantLevel {
						want, wantLevel = TaskID(i), l
					}
				}
				if task != want || level != wantLevel {
					t.Fatalf("map %d %v, want %d %v", task, level, want, wantLevel)
				}
				if task != NoTask {
					m.task(TaskID(task)).state = taskRunning
				}
			}
		}
	})
}
