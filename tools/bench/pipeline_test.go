package main

import (
	"slices"
	"testing"
)

func TestPipelineWritesKeys(t *testing.T) {
	p := newPipeline([]string{"RL.TOKEN", keyPlace, "5"}, 2)
	keys := []int{42, 999_999_999_999, 7}
	next := func() (int, bool) {
		if len(keys) == 0 {
			return 0, false
		}
		key := keys[0]
		keys = keys[1:]
		return key, true
	}
	one := func(digits string) string {
		return "*3\r\n$8\r\nRL.TOKEN\r\n$22\r\nrate:user:" + digits + "\r\n$1\r\n5\r\n"
	}
	for _, want := range []string{one("000000000042") + one("999999999999"), one("000000000007"), ""} {
		if got := string(p.first(p.fill(next))); got != want {
			t.Errorf("sent %q\nwant %q", got, want)
		}
	}
}

func TestSequentialCoversAllKeys(t *testing.T) {
	var all []int
	source := sequential(0, 10, 3)
	for connection := range 3 {
		next := source(connection)
		for key, ok := next(); ok; key, ok = next() {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(all, want) {
		t.Errorf("keys %v, want %v", all, want)
	}
}

func TestFollowingRepeatsItsTrace(t *testing.T) {
	next := following([]uint32{1, 2, 3, 4}, 2)(1)
	var got []int
	for range 5 {
		key, _ := next()
		got = append(got, key)
	}
	if want := []int{3, 4, 1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
}

func TestScatteredStaysWithinAndRepeats(t *testing.T) {
	a, b, other := scattered(10)(1), scattered(10)(1), scattered(10)(2)
	same := true
	for range 100 {
		x, ok := a()
		y, _ := b()
		z, _ := other()
		if !ok || x < 0 || x >= 10 || x != y {
			t.Fatalf("scattered(10) drew %d and %d", x, y)
		}
		same = same && x == z
	}
	if same {
		t.Error("two connections have the same sequence of keys")
	}
}
