package fronts

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/engine"
)

// watchNow returns the news that wait for a front.
func watchNow(t *testing.T, h *Hub, node string, lists bool) Watched {
	t.Helper()
	w, err := h.Watch(context.Background(), node, WatchRequest{First: true, Lists: lists})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func learn(e *engine.Engine, n *engine.Notices, text string) {
	var b engine.Batch
	b.AddLearn([]byte(text))
	e.Apply(1e18, &b)
	n.Send()
}

func TestHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, notices := engine.New(engine.Options{}), new(engine.Notices)
		h := New(Options{Engine: func() *engine.Engine { return e }, Notices: notices, Hold: time.Second})
		h.Publish("", []byte("c"), []byte("nobody hears this"))
		if w := watchNow(t, h, "a", false); len(w.Messages) > 0 || w.Counts == nil || h.Count() != 1 {
			t.Errorf("a new front gets %+v, %d fronts", w, h.Count())
		}
		began := time.Now()
		_, err := h.Watch(context.Background(), "a", WatchRequest{})
		if took := time.Since(began); err != nil || took != time.Second {
			t.Errorf("without news a call took %v: %v", took, err)
		}

		// Texts, messages and lists end a call at once.
		for _, news := range []struct {
			name   string
			happen func()
			has    func(w Watched) bool
		}{
			{"a text", func() { learn(e, notices, "one") },
				func(w Watched) bool { return w.Marks[engine.SourceTexts] == e.TextMark(engine.SourceTexts) }},
			{"a message", func() { h.Publish("b", []byte("c"), []byte("m")) },
				func(w Watched) bool { return len(w.Messages) == 1 && string(w.Messages[0].Text) == "m" }},
			{"a list", func() { h.grew([]engine.Growth{{Key: []byte("l"), Count: 1}}) },
				func(w Watched) bool { return len(w.Grown) == 1 && string(w.Grown[0].Key) == "l" }},
			{"any list", func() { h.grew(nil) }, func(w Watched) bool { return w.Missed && w.Grown == nil }},
			{"many lists", func() { h.grew(make([]engine.Growth, maxGrown+1)) },
				func(w Watched) bool { return w.Missed && w.Grown == nil }},
		} {
			watchNow(t, h, "a", true)
			done := make(chan Watched)
			go func() {
				w, _ := h.Watch(context.Background(), "a", WatchRequest{Lists: true})
				done <- w
			}()
			synctest.Wait()
			began := time.Now()
			news.happen()
			if w := <-done; time.Since(began) > 0 || !news.has(w) {
				t.Errorf("%s: %+v after %v", news.name, w, time.Since(began))
			}
		}

		h.Publish("a", []byte("c"), []byte("its own"))
		if w := watchNow(t, h, "a", true); len(w.Messages) > 0 {
			t.Errorf("a front gets its own messages: %+v", w)
		}
		big := []byte(strings.Repeat("x", maxQueued/3))
		for i := range 5 {
			h.Publish("", fmt.Append(nil, i), big)
		}
		if w := watchNow(t, h, "a", true); len(w.Messages) != 2 || string(w.Messages[1].Channel) != "1" {
			t.Errorf("%d messages wait, want 2 within the bound", len(w.Messages))
		}
		const most = maxQueued / messageBytes
		for range most + 9 {
			h.Publish("", nil, nil)
		}
		if w := watchNow(t, h, "a", true); len(w.Messages) != most {
			t.Errorf("%d empty messages wait, want %d within the bound", len(w.Messages), most)
		}

		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := h.Watch(ctx, "a", WatchRequest{Lists: true}); err != context.Canceled {
			t.Errorf("a canceled call returns %v", err)
		}
		if h.Forget(time.Now()); h.Count() != 1 || notices.Watchers() != 1 {
			t.Errorf("%d fronts, %d of them with lists, want one that is not forgotten at once", h.Count(), notices.Watchers())
		}
		time.Sleep(forgetAfter)
		if h.Forget(time.Now()); h.Count() != 0 || notices.Watchers() != 0 {
			t.Errorf("%d fronts, %d of them with lists, after silence", h.Count(), notices.Watchers())
		}
	})
}

func TestReads(t *testing.T) {
	e := engine.New(engine.Options{})
	h := New(Options{Engine: func() *engine.Engine { return e }, Hold: time.Second})
	var b engine.Batch
	for i := range 30_000 {
		b.Ops = append(b.Ops, engine.Op{Key: fmt.Append(nil, "key ", i), N: 1,
			Params: engine.Params{Alg: engine.Fixed, Limit: 9, Period: engine.MaxPeriod}})
	}
	e.Apply(1e18, &b)
	seen := map[string]bool{}
	for cursor, calls := uint64(0), 0; calls == 0 || cursor != 0; calls++ {
		r, err := h.Read("a", ReadRequest{Kind: ReadScan, Now: 1e18, Cursor: cursor, Count: 1 << 30}, 1e18)
		if err != nil || len(r.Keys) > 2*maxScan {
			t.Fatalf("%d keys: %v", len(r.Keys), err)
		}
		for _, k := range r.Keys {
			seen[string(k.Key)] = true
		}
		cursor = r.Cursor
	}
	if len(seen) != len(b.Ops) {
		t.Errorf("a scan finds %d keys, want %d", len(seen), len(b.Ops))
	}
	if r, err := h.Read("a", ReadRequest{Kind: ReadScan, Now: 1e18, DB: 1, Count: 1}, 1e18); err != nil || r.Cursor == 0 {
		t.Errorf("one scan visits all pages of the keys of another database: %v", err)
	}
	r, err := h.Read("a", ReadRequest{Kind: ReadBytes, Now: 1e18, Key: []byte("key 1")}, 1e18)
	if err != nil || r.Bytes == 0 {
		t.Errorf("a key has %d bytes: %v", r.Bytes, err)
	}
	r, err = h.Read("a", ReadRequest{Kind: ReadCounts}, 7)
	if err != nil || r.Counts.Len != int64(len(b.Ops)) || r.Now != 7 || len(r.Marks) != engine.TextSets {
		t.Errorf("the counts are %+v: %v", r, err)
	}
	if _, err := h.Read("a", ReadRequest{Kind: "all"}, 0); err == nil {
		t.Error("there is a read of all")
	}
	if _, err := h.Texts(TextsRequest{Set: 99}); err == nil {
		t.Error("there is a set 99 of texts")
	}
}
