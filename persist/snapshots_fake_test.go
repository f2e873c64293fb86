package persist

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// fakeState is the state of a fake engine, as blocks by shard.
type fakeState struct {
	bits   int // number of hash bits that select the shard
	keys   int64
	shards [][]fakeBlock
}

type fakeBlock struct {
	first uint64
	data  []byte
}

// newState returns a random state with the given number of keys. Its records are like
// those of an engine: a key of 22 bytes, few of them random, and 21 bytes, some of them
// random.
func newState(seed uint64, keys, bits int) *fakeState {
	random := rand.New(rand.NewPCG(seed, seed))
	s := &fakeState{bits: bits, keys: int64(keys), shards: make([][]fakeBlock, 1<<bits)}
	if keys == 0 {
		return s
	}
	step := ^uint64(0) / uint64(keys)
	var last *fakeBlock
	for i := range keys {
		hash := step*uint64(i) + random.Uint64N(step) // ascending
		shard := &s.shards[hash>>(64-bits)]
		if last == nil || len(*shard) == 0 || len(last.data) > 8000 {
			*shard = append(*shard, fakeBlock{first: hash, data: make([]byte, 0, 8200)})
			last = &(*shard)[len(*shard)-1]
		}
		last.data = fmt.Appendf(last.data, "user:%010d:login:", random.IntN(1e10))
		last.data = append(last.data, byte(1+random.IntN(3)), 0, 0, 0, 0)
		last.data = binary.LittleEndian.AppendUint64(last.data, 1<<60+random.Uint64N(1e13))
		last.data = binary.LittleEndian.AppendUint64(last.data, uint64(random.IntN(100)))
	}
	return s
}

func (s *fakeState) bytes() (sum int64) {
	for _, shard := range s.shards {
		for _, block := range shard {
			sum += int64(len(block.data))
		}
	}
	return sum
}

// source returns a source that reads the state once.
func (s *fakeState) source() *fakeSource {
	return &fakeSource{state: s, at: make([]int, len(s.shards))}
}

type fakeSource struct {
	state *fakeState
	at    []int
}

func (f *fakeSource) Shards() int { return len(f.state.shards) }
func (f *fakeSource) Keys() int64 { return f.state.keys }

func (f *fakeSource) Crowded() bool { return false }

func (f *fakeSource) Next(shard int, dst []byte) ([]byte, uint64, bool) {
	blocks := f.state.shards[shard]
	if f.at[shard] == len(blocks) {
		return dst, 0, false
	}
	block := blocks[f.at[shard]]
	f.at[shard]++
	return append(dst, block.data...), block.first, true
}

// fakeSink counts blocks and keeps a sum that does not depend on their order.
type fakeSink struct {
	mu     sync.Mutex
	blocks int
	sum    uint64
	refuse error
}

func (f *fakeSink) Load(block []byte) error {
	hash := fnv.New64a()
	hash.Write(block)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.blocks++
	f.sum += hash.Sum64()
	return f.refuse
}

// loaded returns a sink that has received the whole state.
func (s *fakeState) loaded() *fakeSink {
	sink := &fakeSink{}
	for _, shard := range s.shards {
		for _, block := range shard {
			sink.Load(block.data)
		}
	}
	return sink
}

func (f *fakeSink) equals(other *fakeSink) bool {
	return f.blocks == other.blocks && f.sum == other.sum
}

func TestFakeState(t *testing.T) {
	s := newState(1, 2000, 2)
	var all []byte
	for shard, blocks := range s.shards {
		if !slices.IsSortedFunc(blocks,
			func(a, b fakeBlock) int { return bytes.Compare(hashBytes(a.first), hashBytes(b.first)) }) {
			t.Errorf("shard %d is not in order", shard)
		}
		for _, block := range blocks {
			if block.first>>62 != uint64(shard) {
				t.Errorf("a block of shard %d begins at %x", shard, block.first)
			}
			all = append(all, block.data...)
		}
	}
	if len(all) != 2000*43 {
		t.Errorf("%d bytes of 2000 keys", len(all))
	}
}

func hashBytes(hash uint64) []byte { return binary.BigEndian.AppendUint64(nil, hash) }
