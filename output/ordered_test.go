package output

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/jobs"
)

// partText returns the text of part i of a random result.
func partText(i, bytes int) []byte {
	r := rand.New(rand.NewPCG(uint64(i), 7))
	text := make([]byte, 0, bytes+8)
	for len(text) < bytes {
		text = binary.LittleEndian.AppendUint64(text, r.Uint64())
	}
	return text[:bytes]
}

// The result has the parts one after the other, whatever the order of writes, commits,
// failures, retries and rival attempts.
func TestPartsComeOutInOrderWhateverHappensToTheirAttempts(t *testing.T) {
	w := newKit(t, 2<<20)
	rapid.Check(t, func(rt *rapid.T) {
		count := rapid.IntRange(1, 8).Draw(rt, "parts")
		var want []byte
		texts := make([][]byte, count)
		sizes := make([]int64, count)
		for i := range texts {
			n := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(0, 3*copyBufferBytes)).Draw(rt, "bytes")
			texts[i] = partText(i, n)
			sizes[i] = int64(n)
			want = append(want, texts[i]...)
		}
		place := rapid.SampledFrom([]string{"stream", "file", "regions", "directory"}).Draw(rt, "place")
		var out bytes.Buffer
		path := w.path("result")
		spec := map[string]Spec{"stream": {Stdout: &out}, "file": {File: path}, "regions": {File: path}, "directory": {Dir: path}}[place]
		target := w.begin(spec, w.parts(count))
		if place == "regions" {
			if parallel, err := target.SetSizes(sizes); !parallel || err != nil {
				rt.Fatalf("SetSizes: %v, %v", parallel, err)
			}
		}
		playAttempts(rt, target, texts, place != "regions")
		must(w.t, target.Commit())
		got := out.Bytes()
		switch place {
		case "file", "regions":
			got = []byte(w.read("result"))
		case "directory":
			got = []byte(w.read("result/part-r-00000"))
		}
		if !bytes.Equal(got, want) {
			rt.Fatalf("%s: %d bytes differ from the %d wanted", place, len(got), len(want))
		}
		must(w.t, os.RemoveAll(path))
	})
}

type player struct {
	part Part
	i    int
	rest []byte
}

// playAttempts drives random attempts until every part has committed.
func playAttempts(rt *rapid.T, target *Target, texts [][]byte, rivals bool) {
	committed := make([]bool, len(texts))
	tries := 0
	var playing []*player
	drop := func(p *player) {
		for i := range playing {
			if playing[i] == p {
				playing = append(playing[:i], playing[i+1:]...)
				return
			}
		}
	}
	for left := len(texts); left > 0; {
		if len(playing) == 0 || rapid.IntRange(0, 4).Draw(rt, "start") == 0 {
			i := rapid.IntRange(0, len(texts)-1).Draw(rt, "part")
			running := false
			for _, p := range playing {
				running = running || p.i == i
			}
			if committed[i] || running && !rivals {
				continue
			}
			tries++
			part, err := target.Part(i, tries)
			if err != nil {
				rt.Fatalf("Part(%d): %v", i, err)
			}
			playing = append(playing, &player{part, i, texts[i]})
			continue
		}
		p := playing[rapid.IntRange(0, len(playing)-1).Draw(rt, "who")]
		switch step := rapid.IntRange(0, 9).Draw(rt, "step"); {
		case step == 0:
			p.part.Abort()
			drop(p)
		case len(p.rest) > 0:
			n := min(len(p.rest), rapid.OneOf(rapid.IntRange(1, 64), rapid.IntRange(1, 2*copyBufferBytes)).Draw(rt, "n"))
			if _, err := p.part.Write(p.rest[:n]); err != nil && !(committed[p.i] && (errors.Is(err, ErrLost) || errors.Is(err, ErrAborted))) {
				rt.Fatalf("write part %d: %v", p.i, err)
			}
			p.rest = p.rest[n:]
		default:
			err := p.part.Commit()
			drop(p)
			switch {
			case err == nil && !committed[p.i]:
				committed[p.i] = true
				left--
			case err == nil:
				rt.Fatalf("part %d committed twice", p.i)
			case !committed[p.i]:
				rt.Fatalf("commit part %d: %v", p.i, err)
			}
		}
	}
	for _, p := range playing {
		p.part.Abort()
	}
}

func TestARetriedAttemptThatWritesSomethingElseFailsAStreamAndACompressedFile(t *testing.T) {
	for name, second := range map[string]string{"other bytes": "axc", "fewer bytes": "a", "nothing": ""} {
		for _, file := range []string{"", "r.gz"} {
			t.Run(name+" "+file, func(t *testing.T) {
				w := newKit(t, 8<<20)
				spec := Spec{Stdout: &bytes.Buffer{}}
				if file != "" {
					spec = Spec{File: w.path(file)}
				}
				target := w.begin(spec, w.parts(1))
				p, err := target.Part(0, 0)
				put(t, p, err, "ab")
				p.Abort()
				p, err = target.Part(0, 1)
				if err := put(t, p, err, second).Commit(); !errors.Is(err, errDiffers) {
					t.Errorf("got %v", err)
				}
				if target.Err() == nil {
					t.Error("a third attempt would be tried")
				}
			})
		}
	}
}

func TestTheSameFromAFileIsTakenBack(t *testing.T) {
	for _, second := range []string{"axc", "a", ""} {
		w := newKit(t, 1<<20)
		target := w.begin(Spec{File: w.path("result")}, w.parts(2))
		p, err := target.Part(0, 0)
		put(t, p, err, "ab")
		p.Abort()
		p, err = target.Part(0, 1)
		must(t, put(t, p, err, second).Commit())
		p, err = target.Part(1, 0)
		must(t, put(t, p, err, "z").Commit())
		must(t, target.Commit())
		if got := w.read("result"); got != second+"z" {
			t.Errorf("got %q, want %q", got, second+"z")
		}
	}
}

func TestAnAbandonedAttemptThatComesBackWritesNothing(t *testing.T) {
	for _, sized := range []bool{false, true} {
		w := newKit(t, 1<<20)
		target := w.begin(Spec{File: w.path("result")}, w.parts(1))
		if sized {
			_, err := target.SetSizes([]int64{2})
			must(t, err)
		}
		stuck, err := target.Part(0, 0)
		put(t, stuck, err, "x")
		stuck.Abort()
		p, err := target.Part(0, 1)
		must(t, put(t, p, err, "ab").Commit())
		stuck.Write([]byte("y"))
		if err := stuck.Commit(); err == nil {
			t.Error("it could commit")
		}
		must(t, target.Commit())
		if err := stuck.Commit(); err == nil {
			t.Error("it could commit after the end")
		}
		if got := w.read("result"); got != "ab" {
			t.Errorf("got %q", got)
		}
	}
}

func TestManyPartsOutOfOrderInLittleMemory(t *testing.T) {
	w := newKit(t, 512<<10)
	const count, bytesEach = 300, 10_000
	var out bytes.Buffer
	target := w.begin(Spec{Stdout: &out}, w.parts(count))
	var want []byte
	for i := range count {
		want = append(want, partText(i, bytesEach)...)
	}
	for i := count - 1; i >= 0; i-- {
		p, err := target.Part(i, 0)
		must(t, put(t, p, err, string(partText(i, bytesEach))).Commit())
	}
	must(t, target.Commit())
	if !bytes.Equal(out.Bytes(), want) {
		t.Error("the result differs")
	}
	if n := descriptors(t); n > 40 {
		t.Errorf("%d descriptors are open", n)
	}
}

func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

func TestPartsOfParallelWritersComeOutInOrder(t *testing.T) {
	w := newKit(t, 1<<20)
	const count, bytesEach, writers = 64, 200_000, 4
	var out bytes.Buffer
	target := w.begin(Spec{Stdout: &out}, w.parts(count))
	var group sync.WaitGroup
	next := make(chan int)
	for range writers {
		group.Go(func() {
			for i := range next {
				failed, err := target.Part(i, 0)
				if err != nil {
					t.Error(err)
					return
				}
				failed.Write(partText(i, bytesEach)[:i*1000])
				failed.Abort()
				p, err := target.Part(i, 1)
				if err != nil {
					t.Error(err)
					return
				}
				p.Write(partText(i, bytesEach))
				if err := p.Commit(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range count {
		next <- i
	}
	close(next)
	group.Wait()
	must(t, target.Commit())
	rest := out.Bytes()
	for i := range count {
		if len(rest) < bytesEach || !bytes.Equal(rest[:bytesEach], partText(i, bytesEach)) {
			t.Fatalf("part %d differs", i)
		}
		rest = rest[bytesEach:]
	}
}

// Tasks wait for their floor while spools hold the rest of the memory. The spools must be
// evicted, or the tasks would wait forever.
func TestTasksThatWaitForMemoryGetThatOfPartsThatWaitForTheirTurn(t *testing.T) {
	w := newKit(t, 1<<20)
	const count, bytesEach, tasks, floorBytes = 40, 400_000, 3, 300 << 10
	target := w.begin(Spec{File: w.path("result")}, w.parts(count))
	var group sync.WaitGroup
	next := make(chan int)
	for range tasks {
		group.Go(func() {
			for i := range next {
				lease, err := w.memory.Reserve(t.Context(), floorBytes)
				if err != nil {
					t.Error(err)
					continue
				}
				p, err := target.Part(i, 0)
				if err == nil {
					p.Write(partText(i, bytesEach))
					err = p.Commit()
				}
				if err != nil {
					t.Error(err)
				}
				lease.Close()
			}
		})
	}
	soon(t, "the tasks", func() {
		for i := count - 1; i >= 0; i-- {
			next <- i
		}
		close(next)
		group.Wait()
	})
	must(t, target.Commit())
	if got := w.read("result"); len(got) != count*bytesEach || got[:bytesEach] != string(partText(0, bytesEach)) {
		t.Errorf("%d bytes, or others", len(got))
	}
}

// An attempt whose thread was abandoned is never aborted. When another attempt commits, it
// frees the memory of the abandoned one.
func TestAnAbandonedAttemptHoldsNoMemoryOnceAnotherCommits(t *testing.T) {
	w := newKit(t, 4<<20)
	var out bytes.Buffer
	target := w.begin(Spec{Stdout: &out}, w.parts(2))
	for i, through := range []bool{true, false} {
		abandoned, err := target.Part(i, 0)
		must(t, err)
		abandoned.Write(partText(i, 2*copyBufferBytes)[:copyBufferBytes])
		if i == 1 && w.memory.Leased() == 0 {
			t.Fatal("nothing is spooled")
		}
		if through {
			later, err := target.Part(1, 7)
			must(t, err)
			later.Write(partText(1, 2*copyBufferBytes)[:copyBufferBytes])
		}
	}
	for i := range 2 {
		p, err := target.Part(i, 1)
		must(t, put(t, p, err, string(partText(i, 2*copyBufferBytes))).Commit())
	}
	if left := w.memory.Leased(); left != 0 {
		t.Errorf("%d bytes are still leased", left)
	}
	must(t, target.Commit())
	if want := string(partText(0, 2*copyBufferBytes)) + string(partText(1, 2*copyBufferBytes)); out.String() != want {
		t.Error("the result differs")
	}
}

// numberer is a Releaser that numbers the splits and stops after some of them.
type numberer struct {
	splits int
	at     map[string]jobs.Verdict
}

func (n *numberer) Release(split io.Reader, w io.Writer) (jobs.Verdict, error) {
	text, err := io.ReadAll(split)
	if err != nil {
		return jobs.Continue, err
	}
	n.splits++
	if strings.HasPrefix(string(text), "fail") {
		return jobs.Continue, errors.New("the releaser failed")
	}
	fmt.Fprintf(w, "%d:%s\n", n.splits, text)
	return n.at[string(text)], nil
}

func (n *numberer) Finish(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%d splits\n", n.splits)
	return err
}

func TestAReleaserGetsEachSplitOnceInOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		at       map[string]jobs.Verdict
		skip     int
		want     string
		verdicts string
	}{
		"all of them":             {nil, -1, "1:a\n2:b\n3:c\n3 splits\n", "[0:0 1:0 2:0]"},
		"one that was skipped":    {nil, 1, "1:a\n2:c\n2 splits\n", "[0:0 2:0]"},
		"none after the job ends": {map[string]jobs.Verdict{"a": jobs.EndJob}, -1, "1:a\n1 splits\n", "[0:2]"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, dir := range []bool{false, true} {
				w := newKit(t, 1<<20)
				var out bytes.Buffer
				var verdicts []string
				p := w.parts(0)
				p.Releaser, p.MapOnly = &numberer{at: tc.at}, true
				p.OnVerdict = func(part int, v jobs.Verdict) { verdicts = append(verdicts, fmt.Sprintf("%d:%d", part, v)) }
				spec := Spec{Stdout: &out}
				if dir {
					spec = Spec{Dir: w.path("out")}
				}
				target := w.begin(spec, p)
				for _, i := range []int{2, 0, 1} {
					if i == tc.skip {
						must(t, target.Skip(i))
						continue
					}
					part, err := target.Part(i, 0)
					must(t, put(t, part, err, string(rune('a'+i))).Commit())
				}
				target.Seal(3)
				must(t, target.Commit())
				got := out.String()
				if dir {
					got = w.read("out/part-m-00000")
				}
				if got != tc.want || fmt.Sprint(verdicts) != tc.verdicts {
					t.Errorf("got %q and verdicts %v, want %q and %v", got, verdicts, tc.want, tc.verdicts)
				}
			}
		})
	}
}

func TestAResultWhoseReleaserHasEndedTheJobCanBeAborted(t *testing.T) {
	w := newKit(t, 1<<20)
	p := w.parts(2)
	p.Releaser = &numberer{at: map[string]jobs.Verdict{"a": jobs.EndJob}}
	target := w.begin(Spec{File: w.path("result")}, p)
	part, err := target.Part(0, 0)
	must(t, put(t, part, err, "a").Commit())
	must(t, target.Abort())
	if _, err := target.Part(1, 0); !errors.Is(err, ErrAborted) {
		t.Errorf("a later part: %v", err)
	}
	mustList(t, w.list())
}

func TestAReleaserFinishesAResultWithoutSplits(t *testing.T) {
	w := newKit(t, 1<<20)
	p := w.parts(0)
	p.Releaser = &numberer{}
	target := w.begin(Spec{File: w.path("result")}, p)
	target.Seal(0)
	must(t, target.Commit())
	if got := w.read("result"); got != "0 splits\n" {
		t.Errorf("got %q", got)
	}
}

func TestAReleasersErrorFailsTheResult(t *testing.T) {
	w := newKit(t, 1<<20)
	p := w.parts(1)
	p.Releaser = &numberer{}
	target := w.begin(Spec{File: w.path("result")}, p)
	part, err := target.Part(0, 0)
	if err := put(t, part, err, "fail").Commit(); err == nil {
		t.Error("the part committed")
	}
	if err := target.Commit(); err == nil {
		t.Error("the result committed")
	}
	mustList(t, w.list())
}

func TestSkipMayBeCalledFromAVerdict(t *testing.T) {
	w := newKit(t, 1<<20)
	var out bytes.Buffer
	p := w.parts(3)
	p.Releaser = &numberer{at: map[string]jobs.Verdict{"a": jobs.EndFile}}
	var target *Target
	p.OnVerdict = func(part int, v jobs.Verdict) {
		if v == jobs.EndFile {
			must(t, target.Skip(part+1))
		}
	}
	target = w.begin(Spec{Stdout: &out}, p)
	for _, i := range []int{1, 2, 0} {
		part, err := target.Part(i, 0)
		must(t, put(t, part, err, string(rune('a'+i))).Commit())
	}
	must(t, target.Commit())
	if out.String() != "1:a\n2:c\n2 splits\n" {
		t.Errorf("got %q", out.String())
	}
}
