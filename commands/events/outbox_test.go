package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/rules/storedtest"
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/internal/status"
	"limitsrv/internal/testing/testwait"
)

// A rig is a state that some nodes share, each with an Outbox.
type rig struct {
	t      *testing.T
	engine *engine.Engine
	clock  *backend.TestClock
	exec   backend.Exec
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, engine: storedtest.NewEngine(4), clock: backend.NewTestClock(storedtest.Start)}
	r.exec = &backend.Local{Engine: r.engine, Clock: r.clock}
	return r
}

// node returns the Outbox of a node that has just started.
func (r *rig) node() *Outbox {
	x := &backend.Executor{Exec: r.exec, Leads: func() bool { return true }}
	return New(Config{Executor: func() *backend.Executor { return x }, Engine: func() *engine.Engine { return r.engine },
		Clock: r.clock, Features: func() uint8 { return 0 }, Log: slog.New(slog.DiscardHandler)})
}

// flush moves the queued events of a node into the list.
func (r *rig) flush(o *Outbox) {
	r.t.Helper()
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		batch := o.gather(done)
		if len(batch) == 0 {
			return
		}
		if err := o.list(context.Background(), batch); err != nil {
			r.t.Fatal(err)
		}
	}
}

// read returns the first events of the list, and their text.
func (r *rig) read(o *Outbox) (all []body, list [][]byte) {
	r.t.Helper()
	list, err := o.Read(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, text := range list {
		var b body
		if err := json.Unmarshal(text, &b); err != nil {
			r.t.Fatalf("%s: %v", text, err)
		}
		all = append(all, b)
	}
	return all, list
}

// take reads and removes all events of the list.
func (r *rig) take(o *Outbox) (all []body) {
	r.t.Helper()
	for {
		some, list := r.read(o)
		if len(some) == 0 {
			return all
		}
		if err := o.Remove(context.Background(), list); err != nil {
			r.t.Fatal(err)
		}
		all = append(all, some...)
	}
}

var domain = &rules.Domain{Name: "api"}

// threshold makes the event of a customer's limit that resets after some time, and notes it.
func threshold(o *Outbox, kind checks.EventKind, customer string, quota int64, resets time.Duration) {
	rule := &rules.Rule{Domain: domain, Name: "tenant", Tree: true}
	limit := &rules.Limit{Quota: quota, Rule: rule, Tier: "free", Window: int64(time.Hour)}
	e := checks.Event{Kind: kind, Key: []byte("rule:api|tenant|" + customer), Rule: rule, Limit: limit,
		Row: checks.Row{Limit: quota, Remaining: 1, ResetMillis: resets.Milliseconds(), Name: "tenant/fixed-1h"}}
	q := &rules.Request{Descriptors: []rules.Descriptor{{Entries: []rules.Entry{
		{Key: []byte("tenant"), Value: []byte(customer)}, {Key: []byte("tenant"), Value: []byte("second")}}}}}
	o.Note([]checks.Event{e}, func() *rules.Request { return q })
}

// A client sets strings in the place of the marks and of the list: the next request tells the event
// again, after a time in which the node ignores it by itself.
func TestKeysOfClients(t *testing.T) {
	r := newRig(t)
	o := r.node()
	client := newScript("redis.call('SET', KEYS[1], 'text') redis.call('SET', KEYS[2], 'text')")
	for _, want := range []int{1, 0} {
		threshold(o, checks.NearEvent, "acme", 10, time.Hour)
		done, cancel := context.WithCancel(context.Background())
		cancel()
		batch := o.gather(done)
		if len(batch) != want {
			t.Fatalf("%d events, want %d", len(batch), want)
		}
		if want == 0 {
			break
		}
		if err := o.list(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
		keys := [][]byte{[]byte(marks), []byte(List)}
		if _, err := o.run(context.Background(), client, keys, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.clock.Advance(rememberTold); err != nil {
		t.Fatal(err)
	}
	threshold(o, checks.NearEvent, "acme", 10, time.Hour)
	r.flush(o)
	if got := len(r.take(o)); got != 1 {
		t.Errorf("%d events, want 1", got)
	}
}

// TestMarks: the marks of told events are bounded, whatever the number of keys. The mark that ends
// first is forgotten for a new mark, and marks that are over are forgotten in any case.
func TestMarks(t *testing.T) {
	r := newRig(t)
	o := r.node()
	ask := func(text string, args ...string) (ints [3]int64) {
		t.Helper()
		var list [][]byte
		for _, arg := range args {
			list = append(list, []byte(arg))
		}
		reply, err := o.run(context.Background(), newScript(text), [][]byte{[]byte(marks)}, list)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := answer.Next(reply)
		for i := range ints {
			ints[i], rest, _ = answer.TakeInt(rest)
		}
		return ints
	}
	marksAre := func(want, short, expiry int64) {
		t.Helper()
		got := ask(`return {redis.call('ZCARD', KEYS[1]), redis.call('ZCOUNT', KEYS[1], '-inf', ARGV[1]), `+
			`redis.call('PTTL', KEYS[1])}`, fmt.Sprint((storedtest.Start + engine.Instant(time.Minute)).Millis()))
		if got != [3]int64{want, short, expiry} {
			t.Errorf("marks, those of a minute, ms to the last end: %d, want %d, %d, %d", got, want, short, expiry)
		}
	}
	const part = 10_000
	for i := range maxMarks / part { // the marks of a minute, and then the marks of an hour
		ask(`for i = 1, ARGV[1] do
  redis.call('ZADD', KEYS[1], redis.call('TIME')[1] * 1000 + ARGV[2], ARGV[3] .. '-' .. i)
end`, fmt.Sprint(part), fmt.Sprint([]int64{60_000, 3_600_000}[2*i*part/maxMarks]), fmt.Sprint(i))
	}
	threshold(o, checks.NearEvent, "acme", 10, 2*time.Hour)
	r.flush(o)
	marksAre(maxMarks, maxMarks/2-1, 7_200_000)
	if err := r.clock.Advance(2 * time.Minute); err != nil {
		t.Fatal(err)
	}
	for i := range 2 * maxBatch {
		threshold(o, checks.NearEvent, fmt.Sprint(i), 10, time.Hour)
	}
	r.flush(o)
	marksAre(maxMarks-2*maxBatch, maxMarks/2-1-4*maxBatch, 7_080_000)
	later := r.node()
	threshold(later, checks.NearEvent, "acme", 10, 2*time.Hour)
	r.flush(later)
	if n := later.Status().Listed[checks.NearEvent].N; n != 0 {
		t.Errorf("%d events are told twice, want 0", n)
	}
	for range 2 {
		_ = r.clock.Advance(2 * time.Hour)
		threshold(o, checks.NearEvent, "acme", 10, time.Hour)
		r.flush(o)
		marksAre(1, 0, 3_600_000)
	}
}

// TestOnce notes random events on several nodes, which restart: the list has each event once in each
// window, and lacks no event.
func TestOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(testwait.Seed(t), 0))
	r := newRig(t)
	nodes := []*Outbox{r.node(), r.node(), r.node()}
	const window = time.Minute
	told := make(map[string]int64) // the window in which an event was told last
	want, got := make(map[string]int), make(map[string]int)
	for range 1500 {
		at := random.IntN(len(nodes))
		switch random.IntN(20) {
		case 0:
			for _, o := range nodes {
				r.flush(o)
			}
			if err := r.clock.Advance(time.Duration(random.Int64N(int64(window / 2)))); err != nil {
				t.Fatal(err)
			}
		case 1: // what is queued is lost with the node
			r.flush(nodes[at])
			nodes[at] = r.node()
		case 2:
			for _, b := range r.take(nodes[at]) {
				got[b.Kind+b.Attributes["tenant"]+fmt.Sprint(b.Quota)]++
			}
		default:
			now := int64(r.clock.Now())
			number := now / int64(window)
			left := time.Duration((number+1)*int64(window) - now).Truncate(time.Millisecond)
			if left < leastTold+time.Millisecond {
				continue
			}
			kind, customer, quota := checks.EventKind(random.IntN(3)), fmt.Sprint(random.IntN(9)), 10+random.Int64N(2)
			threshold(nodes[at], kind, customer, quota, left)
			if id := kind.String() + customer + fmt.Sprint(quota); told[id] != number {
				told[id] = number
				want[id]++
			}
		}
		if random.IntN(4) == 0 {
			r.flush(nodes[at])
		}
	}
	for _, o := range nodes {
		r.flush(o)
	}
	for _, b := range r.take(nodes[0]) {
		got[b.Kind+b.Attributes["tenant"]+fmt.Sprint(b.Quota)]++
	}
	if !maps.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	for _, o := range nodes {
		if s := o.Status(); s.Dropped != [status.EventDrops]int64{} {
			t.Errorf("dropped %v, want no event", s.Dropped)
		}
	}
}

// TestEventText pins the form of events.
func TestEventText(t *testing.T) {
	r := newRig(t)
	o := r.node()
	threshold(o, checks.NearEvent, strings.Repeat("x", 255)+"é", 10, time.Hour)
	r.flush(o)
	list, err := o.Read(context.Background())
	if err != nil || len(list) != 1 {
		t.Fatalf("%q, %v, want an event", list, err)
	}
	text := string(list[0])
	if id := idOf(list[0]); !strings.HasPrefix(text, string(id)) || len(id) != len(idStart)+2*idBytes {
		t.Errorf("id %s of %s", id, text)
	}
	want := `","kind":"near","at":"2027-01-15T08:00:00.000Z","domain":"api","rule":"tenant","limit":"tenant/fixed-1h",` +
		`"tier":"free","attributes":{"tenant":"` + strings.Repeat("x", 255) + `"},"quota":10,"used":9,"remaining":1,` +
		`"window_ms":3600000,"resets_at":"2027-01-15T09:00:00.000Z"}`
	if !strings.HasSuffix(text, want) {
		t.Errorf("event %s, want the end %s", text, want)
	}
}

// TestWindowEnd: a fixed window ends at a whole second, although the event is later or earlier than
// its decision.
func TestWindowEnd(t *testing.T) {
	const end = storedtest.Start + engine.Instant(time.Minute)
	for _, tt := range []struct {
		params engine.Params
		early  time.Duration
		exact  bool
	}{
		{engine.Params{Alg: engine.Fixed, Period: int64(time.Minute)}, 19 * time.Millisecond, true},
		{engine.Params{Alg: engine.Fixed, Period: int64(time.Minute)}, -300 * time.Millisecond, true},
		{engine.Params{Alg: engine.Fixed, Calendar: engine.Month}, time.Millisecond, true},
		{engine.Params{Alg: engine.Fixed, Period: int64(1500 * time.Millisecond)}, time.Millisecond, false},
		{engine.Params{Alg: engine.Token, Period: int64(time.Minute)}, time.Millisecond, false},
	} {
		e := checks.Event{Limit: &rules.Limit{Params: tt.params}, Row: checks.Row{ResetMillis: time.Minute.Milliseconds()}}
		if got := resetOf(&e, storedtest.Start-engine.Instant(tt.early)); (got == end) != tt.exact {
			t.Errorf("%+v, %v early: %v from the end, want the end: %v", tt.params, tt.early, got-end, tt.exact)
		}
	}
}

// TestFull: an event that finds no room is counted, and told later.
func TestFull(t *testing.T) {
	r := newRig(t)
	o := r.node()
	dropped := func(want ...int64) {
		t.Helper()
		if s := o.Status(); !slices.Equal(s.Dropped[:], want) {
			t.Errorf("dropped %v, want %v", s.Dropped, want)
		}
	}
	for i := range maxQueued {
		threshold(o, checks.NearEvent, fmt.Sprint(i), 10, time.Hour)
	}
	threshold(o, checks.NearEvent, "late", 10, time.Hour)
	threshold(o, checks.NearEvent, "late", 10, time.Hour) // within retryTold
	dropped(1, 0, 0)
	r.flush(o)
	_ = r.clock.Advance(retryTold)
	threshold(o, checks.NearEvent, "late", 10, time.Hour)
	r.flush(o)
	if n := o.Status().Listed[checks.NearEvent].N; n != maxQueued+1 {
		t.Errorf("%d events in the list, want %d", n, maxQueued+1)
	}
	fill := newScript("for i = 1, ARGV[1] do redis.call('RPUSH', KEYS[1], '{}') end")
	rest := strconv.Itoa(maxListed - maxQueued - 1)
	if _, err := o.run(context.Background(), fill, [][]byte{[]byte(List)}, [][]byte{[]byte(rest)}); err != nil {
		t.Fatal(err)
	}
	threshold(o, checks.BlockedEvent, "late", 10, time.Hour)
	r.flush(o)
	dropped(1, 1, 0)
	if n := len(r.take(o)); n != maxListed {
		t.Errorf("%d events in the list, want %d", n, maxListed)
	}
	_ = r.clock.Advance(retryTold)
	threshold(o, checks.BlockedEvent, "late", 10, time.Hour)
	r.flush(o)
	if all := r.take(o); len(all) != 1 || all[0].Kind != "blocked" {
		t.Errorf("events %v, want the last", all)
	}
	r.engine.SetBound(engine.Bound{MaxBytes: 1})
	threshold(o, checks.BlockedEvent, "more", 10, time.Hour)
	r.flush(o)
	dropped(1, 1, 1)
}

// TestRemove: an event that a client has taken meanwhile, and a text of a client, remove no event.
func TestRemove(t *testing.T) {
	r := newRig(t)
	o := r.node()
	for _, customer := range []string{"a", "b", "c"} {
		threshold(o, checks.NearEvent, customer, 10, time.Hour)
	}
	r.flush(o)
	list, _ := o.Read(context.Background())
	if err := o.Remove(context.Background(), list[:1]); err != nil { // the client
		t.Fatal(err)
	}
	if err := o.Remove(context.Background(), [][]byte{list[0], []byte("text"), list[1]}); err != nil {
		t.Fatal(err)
	}
	if all, _ := r.read(o); len(all) != 1 || all[0].Attributes["tenant"] != "c" {
		t.Errorf("events %v, want the event of c", all)
	}
}

// A failing Exec fails some batches, before or after they are applied.
type failing struct {
	backend.Local
	before, after int
}

func (f *failing) Exec(b *engine.Batch, done func(error)) {
	if f.before > 0 {
		f.before--
		done(errors.New("no leader"))
		return
	}
	f.Local.Exec(b, func(err error) {
		if f.after > 0 {
			f.after--
			err = errors.New("UNCERTAIN")
		}
		done(err)
	})
}

// TestRun: events reach the list in their order, although batches fail. A stop lists the events that
// are left.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.exec = &failing{*r.exec.(*backend.Local), 3, 2}
		o := r.node()
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			o.Run(ctx, context.Background())
			close(ended)
		}()
		threshold(o, checks.NearEvent, "a", 10, time.Hour)
		time.Sleep(time.Minute)
		threshold(o, checks.NearEvent, "b", 10, time.Hour)
		<-o.Changed()
		threshold(o, checks.NearEvent, "c", 10, time.Hour)
		stop()
		<-ended
		var got []string
		all, _ := r.read(o)
		for _, b := range all {
			got = append(got, b.Attributes["tenant"])
		}
		if want := []string{"a", "b", "c"}; !slices.Equal(got, want) {
			t.Errorf("events of %v, want %v", got, want)
		}
	})
}
