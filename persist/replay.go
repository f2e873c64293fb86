package persist

import (
	"context"
	"fmt"
	"runtime"

	"limitsrv/engine"
)

// A replay applies the entries of a log behind a snapshot, on all processors: it decodes
// entries while those before are applied. Its owner must call Finish after the last one,
// also if entry returned an error.
type replay struct {
	*engine.Replay
	log     string // path, for errors
	decoder Decoder
	apply   func(engine.Instant, *engine.Batch) error
}

func newReplay(to *engine.Engine, log string) *replay {
	r := &replay{Replay: to.NewReplay(inShards), log: log}
	r.Ahead(inBackground)
	r.decoder.Commands = to.Commands()
	r.apply = func(stamp engine.Instant, b *engine.Batch) error {
		r.Apply(stamp, b)
		return nil
	}
	return r
}

// entry applies an entry. Its errors name the entry and the log.
func (r *replay) entry(index uint64, data []byte) error {
	if err := r.decoder.Decode(data, r.apply); err != nil {
		return fmt.Errorf("entry %d of %s: %w", index, r.log, err)
	}
	return nil
}

// inShards calls each for shards 0 to n-1, on all processors.
func inShards(n int, each func(shard int)) {
	_ = inParallel(context.Background(), n, runtime.NumCPU(), func(_ context.Context, shard int) error {
		each(shard)
		return nil
	})
}

// inBackground calls work on a goroutine of its own. wait returns after work has.
func inBackground(work func()) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	return func() { <-done }
}
