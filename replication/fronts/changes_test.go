package fronts

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/engine"
)

// changedIn returns the keys that have changed.
func changedIn(w Watched) (keys []string) {
	for key := range w.Changed.All {
		keys = append(keys, string(key))
	}
	return keys
}

// TestHubTellsOfChanges: a front that tracks gets the keys that change after its call, or learns that any
// key may have changed.
func TestHubTellsOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, notices := engine.New(engine.Options{}), new(engine.Notices)
		h := New(Options{Engine: func() *engine.Engine { return e }, Notices: notices, Hold: time.Second})
		watch := func(q WatchRequest) Watched {
			t.Helper()
			w, err := h.Watch(context.Background(), "a", q)
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		set := func(keys ...string) {
			b := engine.Batch{Notices: notices}
			for _, key := range keys {
				b.Ops = append(b.Ops, engine.Op{Key: []byte(key), N: 1,
					Params: engine.Params{Alg: engine.Fixed, Limit: 9, Period: engine.MaxPeriod}})
			}
			e.Apply(1e18, &b)
			notices.Send()
		}
		tracks := WatchRequest{Tracks: true}

		if watch(WatchRequest{First: true}); notices.Tracks() {
			t.Error("changes are noted for a front that wants none")
		}
		set("before")
		if w := watch(tracks); w.Tracked || !notices.Tracks() {
			t.Errorf("the first call of a front that tracks returns %+v", w)
		}
		set("k", "l")
		set("m")
		told := h.toldOf("a")
		if w := watch(tracks); !w.Tracked || !slices.Equal(changedIn(w), []string{"k", "l", "m"}) || w.Told != told {
			t.Errorf("after changes: keys %q, %+v, want told %d", changedIn(w), w, told)
		}
		began := time.Now()
		if w := watch(tracks); !w.Tracked || changedIn(w) != nil || time.Since(began) != time.Second {
			t.Errorf("without changes: %+v after %v", w, time.Since(began))
		}
		done := make(chan Watched)
		go func() { done <- watch(tracks) }()
		synctest.Wait()
		set("n")
		if w := <-done; !slices.Equal(changedIn(w), []string{"n"}) {
			t.Errorf("a call in progress returns the keys %q", changedIn(w))
		}

		long := bytes.Repeat([]byte("x"), maxChanged/2)
		for name, happens := range map[string]func(){
			"many keys":      func() { h.changed([]engine.Change{{Key: long}, {Key: long}, {Key: []byte("k")}}) },
			"all keys":       func() { h.changed([]engine.Change{{Key: []byte("k")}, {All: true}, {Key: []byte("l")}}) },
			"another state":  notices.Replaced,
			"a missed reply": func() { set("k"); tracks.First = true },
		} {
			happens()
			if w := watch(tracks); w.Tracked || w.Changed != nil {
				t.Errorf("%s: tracked %v, %d bytes of keys", name, w.Tracked, len(w.Changed))
			}
			tracks.First = false
		}
		time.Sleep(forgetAfter)
		if h.Forget(time.Now()); notices.Tracks() {
			t.Error("changes are noted for a front that is forgotten")
		}
	})
}

// TestNewerWatchGetsAllNews: a call of Watch that its front has given up takes no news from a later call.
func TestNewerWatchGetsAllNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := engine.New(engine.Options{})
		h := New(Options{Engine: func() *engine.Engine { return e }, Notices: new(engine.Notices), Hold: time.Second})
		watchNow(t, h, "a", false)
		given := make(chan Watched, 1)
		go func() {
			w, _ := h.Watch(context.Background(), "a", WatchRequest{})
			given <- w
		}()
		synctest.Wait()
		watchNow(t, h, "a", false)
		synctest.Wait()
		h.Publish("", []byte("c"), []byte("m"))
		synctest.Wait()
		began := time.Now()
		if w, err := h.Watch(context.Background(), "a", WatchRequest{}); len(w.Messages) != 1 || time.Since(began) > 0 {
			t.Errorf("the later call returns %+v after %v: %v", w, time.Since(began), err)
		}
		if w := <-given; len(w.Messages) > 0 {
			t.Errorf("the earlier call returns %+v", w)
		}
	})
}
