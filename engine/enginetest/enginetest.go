// Package enginetest compares engines that are told the same in different ways, and answers with
// expected texts that do not list the algorithms. It is for tests.
package enginetest

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"limitsrv/engine"
)

// lists matches two or more names of algorithms of limits, or of their commands.
var lists = func() *regexp.Regexp {
	var names []string
	for a := range engine.Algs() {
		if a.IsCounted() {
			names = append(names, a.String())
		}
	}
	upper := "(" + strings.Join(names, "|") + ")"
	lower := strings.ToLower(upper)
	const between = `(, | or | and |\|)`
	return regexp.MustCompile(`\b(` + upper + `(` + between + upper + `)+|` + lower + `(` + between + lower + `)+|rl\.` +
		lower + `(" "rl\.` + lower + `)+)\b`)
}()

// HideAlgorithms replaces each list of the algorithms that count permits, or of some of them, by
// {algorithms}. So the expected text stays when an algorithm is added.
func HideAlgorithms(text string) string { return lists.ReplaceAllLiteralString(text, "{algorithms}") }

// Copy returns an engine with the state of another, through a snapshot.
func Copy(t *testing.T, from *engine.Engine, o engine.Options) *engine.Engine {
	t.Helper()
	e, n := engine.New(o), from.Freeze()
	defer n.Close()
	for shard := range n.Shards() {
		for block, _, ok := n.Next(shard, nil); ok; block, _, ok = n.Next(shard, nil) {
			if err := e.Load(block); err != nil {
				t.Fatal(err)
			}
		}
	}
	e.SetTime(n.Now())
	return e
}

// A Session is random calls in Steps batches, at most Pause apart.
type Session struct {
	Options engine.Options // without Shards, which are random
	Start   engine.Instant
	Pause   engine.Instant
	Steps   int
	Calls   int                                // of a batch at most
	Add     func(*rand.Rand, *engine.Batch)    // adds a call
	Answer  func(t *testing.T, c *engine.Call) // is told each answer
}

// Compare carries out a session in three ways: in batches, by a Replay, and its second half in
// batches after a snapshot. All must agree on the answers and on the state.
func (s *Session) Compare(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	sharded := func() engine.Options {
		o := s.Options
		o.Shards = 1 << r.IntN(5)
		return o
	}
	e, replica := engine.New(sharded()), engine.New(sharded())
	replay := replica.NewReplay(func(n int, each func(int)) {
		for i := range n {
			each(i)
		}
	})
	now, copied := s.Start, (*engine.Engine)(nil)
	for step := range s.Steps {
		if step == s.Steps/2 {
			copied = Copy(t, e, sharded())
		}
		now += engine.Instant(r.Int64N(int64(s.Pause)))
		batch := engine.Batch{Atomic: r.IntN(3) == 0}
		for range 1 + r.IntN(s.Calls) {
			s.Add(r, &batch)
		}
		replayed, again := same(&batch), same(&batch)
		e.Apply(now, &batch)
		replay.Apply(now, replayed)
		if copied != nil {
			copied.Apply(now, again)
		}
		for i := range batch.Calls {
			c := &batch.Calls[i]
			if s.Answer != nil {
				s.Answer(t, c)
			}
			if got := again.Calls[i].Answer; copied != nil && !bytes.Equal(got, c.Answer) {
				t.Fatalf("seed %d: %q answers %q from a snapshot, want %q", seed, c.Args, got, c.Answer)
			}
		}
	}
	replay.Finish()
	want := e.Digest(now)
	if got := replica.Digest(now); got != want {
		t.Errorf("seed %d: digest %x of the replay, want %x", seed, got, want)
	}
	if got := copied.Digest(now); got != want {
		t.Errorf("seed %d: digest %x from the snapshot, want %x", seed, got, want)
	}
}

// same returns a batch of the same calls.
func same(b *engine.Batch) *engine.Batch {
	other := &engine.Batch{Atomic: b.Atomic}
	other.Join(b)
	return other
}
