package persist

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"limitsrv/engine"
)

// A replay applies the entries of a log after a snapshot, on all processors. It decodes entries
// while earlier entries are applied. Its owner must call finish after the last entry, even if entry
// returned an error.
//
// The ops of several entries are applied at the same time, so the mark covers all entries that may
// be in flight. Suspects are applied one at a time, so that the mark then names one entry.
type replay struct {
	*engine.Replay
	to      *engine.Engine
	log     string // path, for errors
	decoder Decoder
	apply   func(engine.Instant, *engine.Batch) error
	mark    *Applying // nil: no mark
	index   uint64    // the current entry
	queued  uint64    // all earlier entries are applied or are being applied
}

// newReplay returns a replay that starts with the entry first.
func newReplay(to *engine.Engine, log string, mark *Applying, first uint64) *replay {
	r := &replay{Replay: to.NewReplay(inShards), to: to, log: log, mark: mark, queued: first}
	r.mark.Since(first)
	r.Alone(func() {
		r.queued = r.index
		r.mark.Since(r.index)
	})
	r.Ahead(func(work func()) (wait func()) {
		r.mark.Since(r.queued) // the previous queue has been applied
		r.queued = r.index
		return inBackground(work)
	})
	r.decoder.Commands = to.Commands()
	r.apply = func(stamp engine.Instant, b *engine.Batch) error {
		r.Apply(stamp, b)
		return nil
	}
	return r
}

// entry applies an entry. Its errors name the entry and the log.
func (r *replay) entry(index uint64, data []byte) (err error) {
	r.index = index
	if r.mark.Begin(index) {
		err = r.suspect(data)
	} else {
		err = r.decoder.Decode(data, r.apply)
	}
	if err != nil {
		return fmt.Errorf("entry %d of %s: %w", index, r.log, r.mark.Remedy(index, err))
	}
	return nil
}

// suspect applies an entry that may have ended the last process. No other entry is applied
// meanwhile.
func (r *replay) suspect(data []byte) error {
	r.Finish()
	r.queued = r.index
	r.mark.Since(r.index)
	r.mark.Again(r.index, func() string { return DescribeIn(r.to, data) })
	err := r.decoder.Decode(data, r.apply)
	r.Finish()
	if err == nil {
		r.mark.Survived(r.index)
	}
	return err
}

// finish applies the queued ops and ends the replay.
func (r *replay) finish() {
	r.Finish()
	r.mark.End()
	r.mark.Since(0)
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
	var working sync.WaitGroup
	working.Go(work)
	return working.Wait
}
