package persist

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
)

// A crier is a scribe that publishes each text that it appends.
type crier struct{ scribe }

func (x crier) Do(tx *engine.Tx, c *engine.Call) {
	x.scribe.Do(tx, c)
	if c.Command == scribeAppend {
		tx.Publish(c.Args[0], c.Args[1])
	}
}

// TestReplaySendsNoMessages: the messages of calls are sent before their answers, in order,
// and never again when a log is replayed.
func TestReplaySendsNoMessages(t *testing.T) {
	for _, policy := range []Policy{Always, EverySecond} {
		var (
			mu   sync.Mutex
			sent []string
		)
		o := testOptions(t, vfs.NewMem(), policy)
		o.Engine, o.Notices = engine.Options{Commands: crier{}}, new(engine.Notices)
		o.Notices.Handle(func(channel, message []byte) {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, string(channel)+" "+string(message))
		})
		var want []string
		for range 3 {
			s := start(t, o)
			for i := range 10 {
				var b engine.Batch
				for _, key := range []string{"a", "b"} {
					text := fmt.Sprint(len(want), i)
					write(&b, 0, scribeAppend, key, text)
					want = append(want, key+" "+text)
				}
				b.Atomic = true // in the order of the batch
				if err := perform(s, &b); err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				if !slices.Equal(sent, want) {
					t.Fatalf("policy %v: sent %q, want %q", policy, sent, want)
				}
				mu.Unlock()
			}
			end(t, s, false)
		}
	}
}
