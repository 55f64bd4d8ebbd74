package omo

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9*max(1, math.Abs(b)) }

// TestAlignment works [OMO21, eq. 2]: S 16, r 4, F_o 0.4, T_m 30, T_s 40 give F_e 0.3 and x* 3.
// T_m 50 gives a start when no map is pending. Eq. (3): A_o 12, D 2, r 4, F_o 0.5
// give F_e 1/6, and T_s 60, T_m 30 x* 5.
func TestAlignment(t *testing.T) {
	fe := shareFrequency(0.4, 16, 4, 1)
	if !near(fe, 0.3) || !near(aligned(40, 30, fe), 3) || !startsNow(3, aligned(40, 30, fe)) || startsNow(4, aligned(40, 30, fe)) {
		t.Errorf("F_e %v, x* %v", fe, aligned(40, 30, fe))
	}
	if x := aligned(40, 50, fe); x != 0 || !startsNow(0, x) || startsNow(1, x) {
		t.Errorf("T_s < T_m: x* %v", x)
	}
	fe = shareFrequency(0.5, 12, 4, 2)
	if !near(fe, 1.0/6) || !near(aligned(60, 30, fe), 5) {
		t.Errorf("eq. (3): F_e %v, x* %v", fe, aligned(60, 30, fe))
	}
	if shareFrequency(0.5, 4, 4, 1) != 0 || shareFrequency(0.5, 3, 4, 1) != 0 {
		t.Error("no container is left next to the reduces: F_e is 0")
	}
}

// TestRoomInTheShare: next to its reduces a job's maps have the rest of the job's share [OMO21, "room in
// the share"]. 8 containers, D 4, r 2 leave nothing of a share of 2, where eq. (3) leaves 3/2. With one
// job both are the same.
func TestRoomInTheShare(t *testing.T) {
	for _, c := range []struct {
		name                 string
		reduces              int32
		jobs                 int
		wantShare, wantPaper float64
	}{
		{"as many reduces as the share", 2, 4, 0, 0.4 * 6 / 8 / 4},
		{"more reduces than the share", 3, 4, 0, 0.4 * 5 / 8 / 4},
		{"a reduce in half of the share", 1, 4, 0.4 * 1 / 8, 0.4 * 7 / 8 / 4},
		{"one job", 2, 1, 0.4 * 6 / 8, 0.4 * 6 / 8},
	} {
		share, paper := restFrequency(0.4, 8, 8, c.reduces, c.jobs), shareFrequency(0.4, 8, c.reduces, c.jobs)
		if !near(share, c.wantShare) || !near(paper, c.wantPaper) {
			t.Errorf("%s: F_e %v in the share, %v by eq. (3); want %v and %v", c.name, share, paper, c.wantShare, c.wantPaper)
		}
	}
}

// TestStartsNowIsTheLeastGap: the rule is |β(m')| <= |β(x)| for all x < m'
// [OMO21, "signed argmin"].
// As the paper prints it, with signed gaps over x from m' to m, it holds for no
// m' but m.
func TestStartsNowIsTheLeastGap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		shuffle, mapTime := float64(rapid.IntRange(0, 200).Draw(rt, "T_s")), float64(rapid.IntRange(1, 90).Draw(rt, "T_m"))
		fe := float64(rapid.IntRange(1, 64).Draw(rt, "F_e in 64ths")) / 64
		pending := rapid.Int32Range(0, 60).Draw(rt, "m'")
		want := true
		for x := range pending {
			want = want && math.Abs(gap(shuffle, mapTime, fe, pending)) <= math.Abs(gap(shuffle, mapTime, fe, x))+1e-9
		}
		if got := startsNow(pending, aligned(shuffle, mapTime, fe)); got != want {
			rt.Fatalf("starts %v, want %v: β = %v", got, want, gap(shuffle, mapTime, fe, pending))
		}
		if gap(shuffle, mapTime, fe, pending+1) >= gap(shuffle, mapTime, fe, pending) {
			rt.Fatal("β does not fall with x")
		}
	})
}

// TestBatch is the example of [OMO21, "batch time"]. K 3, m' 6, F_o 0.5, T_m 30, A_o 12, r 4 give t_fair
// 66, s 22 and t_batch 52.5. The paper prints 33 for t_batch.
func TestBatch(t *testing.T) {
	fair := fairTime(0.5, 30, 3, 6)
	s := othersGet(0.5, fair, 3)
	if batch := batchTime(0.5, 30, 12, 6, 4, s); !near(fair, 66) || !near(s, 22) || !near(batch, 52.5) {
		t.Errorf("t_fair %v, s %v, t_batch %v", fair, s, batch)
	}
	if fair := fairTime(0.5, 30, 1, 6); !near(fair, batchTime(0.5, 30, 12, 6, 4, othersGet(0.5, fair, 1))) {
		t.Error("with one job nothing is gained")
	}
	if !oneWave(0.5, 30, 15) || oneWave(0.5, 30, 16) {
		t.Error("15 containers are released in 30 s")
	}
}

func TestShuffleTime(t *testing.T) {
	if ts := shuffleTime(60e6, 80, 20e6, 4); !near(ts, 60) {
		t.Errorf("80 outputs of 60 MB to 4 reduces of 20 MB/s: %v s", ts)
	}
	if shuffleTime(60e6, 80, 0, 4) != 0 || shuffleTime(60e6, 80, 1, 0) != 0 {
		t.Error("where nothing is known of B, or there is no reduce, no time")
	}
}

// TestWindows has maps of 60 s, so windows of 10 s. Four containers release a task each
// after 10 s. In the second window two are available, and it lasts until four tasks are
// released. A pause belongs to no window.
func TestWindows(t *testing.T) {
	const s = time.Second
	var m monitor
	m.close(0, 0)
	m.available(0, 4)
	release := func(at time.Duration, n int) {
		for range n {
			m.released(at, 60*s)
		}
	}
	release(5*s, 1)
	if !m.close(5*s, 60*s) || m.windows != 0 || !near(m.frequency, 0.2) || !near(m.averages, 4) {
		t.Errorf("before the first window has ended: F_o %v, A_o %v", m.frequency, m.averages)
	}
	release(10*s, 3)
	if !m.close(10*s, 60*s) || m.windows != 1 || !near(m.frequency, 0.4) || !near(m.averages, 4) {
		t.Errorf("first window: F_o %v, A_o %v", m.frequency, m.averages)
	}
	m.available(10*s, 2)
	release(20*s, 2)
	if m.close(25*s, 60*s) || m.windows != 1 {
		t.Errorf("%d windows, and two releases are not several", m.windows)
	}
	release(26*s, 1)
	release(30*s, 1)
	m.close(30*s, 60*s)
	if !near(m.frequency, 0.5*4/20+0.5*0.4) || !near(m.averages, 0.5*2+0.5*4) {
		t.Errorf("second window: F_o %v, A_o %v", m.frequency, m.averages)
	}
	m.available(32*s, 0)
	if m.close(1_000_000*s, 60*s) || m.windows != 2 {
		t.Errorf("%d windows, and in a pause none ends", m.windows)
	}
	m.available(1_000_000*s, 3)
	release(1_000_008*s, 4)
	m.close(1_000_008*s, 60*s)
	if !near(m.frequency, 0.5*0.4+0.5*0.3) || !near(m.averages, 0.5*2.8+0.5*3) {
		t.Errorf("after a pause: F_o %v, A_o %v", m.frequency, m.averages)
	}
}

// TestTheLengthOfAWindow is [OMO21, "smoothing and window"]: 10 s, a third of the time of short
// maps, or the time that the user sets.
func TestTheLengthOfAWindow(t *testing.T) {
	for mapTime, want := range map[time.Duration]time.Duration{
		time.Minute: 10 * time.Second, 30 * time.Second: 10 * time.Second, 6 * time.Second: 2 * time.Second, 3 * time.Millisecond: 50 * time.Millisecond,
	} {
		if got := (&monitor{}).lasts(mapTime); got != want {
			t.Errorf("maps of %v: %v, want %v", mapTime, got, want)
		}
	}
	if got := (&monitor{window: time.Second}).lasts(time.Minute); got != time.Second {
		t.Errorf("chosen: %v", got)
	}
}
