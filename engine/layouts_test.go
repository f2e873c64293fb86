package engine_test

import (
	"fmt"
	"hash/fnv"
	"testing"

	"limitsrv/engine"
)

// layoutCalls applies calls of all kinds at a level to an engine with a number of shards, each as a
// batch of its own. It returns a hash of the answers, which include random numbers, and the sum of the
// effects.
func layoutCalls(shards int, level uint8) (answers, effects uint64) {
	e := engine.New(engine.Options{Shards: shards, Seed: [16]byte{1, 2, 3}, Commands: toy{}, Effects: true})
	now, sum := instant("2025-06-15T12:34:56.789Z"), fnv.New64a()
	for i := range 200 {
		key, other := fmt.Sprint("key ", i%20), fmt.Sprint("key ", i%7)
		for command, args := range [][]string{
			toySet: {key, fmt.Sprint("value ", i), "0"}, toyGet: {other}, toyAdd: {other + "n", "3"},
			toyExpire: {key, fmt.Sprint(now.Millis() + int64(i*1000))}, toyDrop: {other}, toyRename: {key, other},
			toyGetAny: {key}, toyTake: {key + "l"}, toyDraw: {key}, toyMove: {other + "n", key + "n"},
		} {
			b := engine.Batch{Level: level}
			call(&b, uint8(i%3), uint16(command), args...)
			b.Calls[0].Draws = command == toyDraw
			e.SetMoments(now, &b)
			now += 1_000_003
			e.Apply(now, &b)
			sum.Write(b.Calls[0].Answer)
			effects += b.Effects
		}
	}
	return sum.Sum64(), effects
}

// TestLayouts compares answers, random numbers and effects with an engine with 16 shards: nodes
// with other numbers of shards must agree with it.
func TestLayouts(t *testing.T) {
	for _, want := range []struct {
		level            uint8
		answers, effects uint64
	}{
		{1, 0xdfeb9a38f2ca4486, 0xda34dcd872cf7a87},
		{2, 0x3ab0eb16cf7f8912, 0xf87729c3aa51f39c},
	} {
		for _, shards := range []int{16, 1, 4, 64, 1024} {
			if answers, effects := layoutCalls(shards, want.level); answers != want.answers || effects != want.effects {
				t.Errorf("level %d, %d shards: answers %#x, effects %#x, want %#x, %#x", want.level, shards, answers, effects,
					want.answers, want.effects)
			}
		}
	}
}
