package order

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestRankingGivesTheLeast(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := Ranking[int]{Less: func(a, b *int) bool { return *a < *b }}
		keys := map[int32]int{}
		for range rapid.IntRange(0, 200).Draw(rt, "steps") {
			id := rapid.Int32Range(0, 20).Draw(rt, "id")
			if key := rapid.IntRange(-1, 5).Draw(rt, "key"); key < 0 {
				delete(keys, id)
				r.Remove(id)
			} else {
				keys[id] = key
				r.Set(id, key)
			}
			want := int32(-1)
			for id, key := range keys {
				if want < 0 || key < keys[want] || key == keys[want] && id < want {
					want = id
				}
			}
			if got, ok := r.First(); got != want || ok != (len(keys) > 0) || r.Len() != len(keys) {
				rt.Fatalf("first of %v: %d, want %d", keys, got, want)
			}
		}
	})
}

func TestFirstsAreInOrderAndStay(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := Ranking[int]{Less: func(a, b *int) bool { return *a < *b }}
		for id, key := range rapid.SliceOfN(rapid.IntRange(0, 5), 0, 30).Draw(rt, "keys") {
			r.Set(int32(id), key)
		}
		n, before := rapid.IntRange(0, 40).Draw(rt, "n"), r.Len()
		got := r.Firsts(nil, n)
		if r.Len() != before || len(got) != min(n, before) {
			rt.Fatalf("%d of %d, and %d stay", len(got), before, r.Len())
		}
		for _, id := range got {
			if first, _ := r.First(); first != id {
				rt.Fatalf("%v, and %d is the first", got, first)
			}
			r.Remove(id)
		}
	})
}

func TestIDsGiveTheLeast(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var h IDs[int32]
		held := map[int32]bool{}
		for range rapid.IntRange(0, 200).Draw(rt, "steps") {
			if id := rapid.Int32Range(0, 30).Draw(rt, "id"); held[id] {
				h.Remove(id)
				delete(held, id)
			} else {
				h.Push(id)
				held[id] = true
			}
			if len(h) != len(held) {
				rt.Fatalf("%d held of %d", len(h), len(held))
			}
			for id := range held {
				if h[0] > id {
					rt.Fatalf("first is %d, and %d is held", h[0], id)
				}
			}
		}
	})
}

func TestNextWalksASetInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var set Set[int32]
		held := map[int32]bool{}
		for range rapid.IntRange(0, 60).Draw(rt, "steps") {
			id, in := rapid.Int32Range(0, 300).Draw(rt, "id"), rapid.Bool().Draw(rt, "in")
			set.Put(id, in)
			if delete(held, id); in {
				held[id] = true
			}
			if set.Has(id) != in {
				rt.Fatalf("Has(%d) is %v", id, !in)
			}
		}
		var got []int32
		for id := set.Next(0); id >= 0; id = set.Next(id + 1) {
			got = append(got, id)
		}
		if want := slices.Sorted(maps.Keys(held)); !slices.Equal(got, want) {
			rt.Fatalf("walked %v, want %v", got, want)
		}
	})
}
