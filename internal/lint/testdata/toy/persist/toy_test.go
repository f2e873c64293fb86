package persist

import (
	"strings"
	"testing"

	"limitsrv/engine"
)

func TestToy(t *testing.T) {
	const now = engine.Instant(1e18)
	op := engine.Op{Kind: engine.Take, Params: engine.Params{Alg: engine.Toy, Limit: 5, Period: 60e9}, N: 3,
		Key: []byte("k")}
	var (
		options = engine.Options{Shards: 1}
		live    = engine.New(options)
		batch   = engine.Batch{Ops: []engine.Op{op}}
		entry   Entry
		decoder Decoder
	)
	live.Apply(now, &batch)
	entry.AppendChanged(now, &batch)

	replayed := engine.New(options)
	replay := replayed.NewReplay(func(n int, each func(shard int)) {
		for i := range n {
			each(i)
		}
	})
	err := decoder.Decode(entry.Bytes(), func(stamp engine.Instant, b *engine.Batch) error {
		replay.Apply(stamp, b)
		return nil
	})
	if replay.Finish(); err != nil || replayed.Len() != 1 || replayed.Digest(now) != live.Digest(now) {
		t.Errorf("replay: %v, %d keys, digest %x, want %x", err, replayed.Len(), replayed.Digest(now), live.Digest(now))
	}

	loaded := engine.New(options)
	block, _, _ := live.Freeze().Next(0, nil)
	if err := loaded.Load(block); err != nil || loaded.Len() != 1 || loaded.Digest(now) != live.Digest(now) {
		t.Errorf("snapshot: %v, %d keys, digest %x, want %x", err, loaded.Len(), loaded.Digest(now), live.Digest(now))
	}

	op.Params.Limit = engine.MaxListed + 1
	if _, err := decode(encode([]step{{now, false, []engine.Op{op}}})); err == nil ||
		!strings.Contains(err.Error(), "out of range") {
		t.Errorf("a limit out of range: %v", err)
	}
}
