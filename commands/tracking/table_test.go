package tracking

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/resp"
	"limitsrv/engine"
)

// A world is a table with a node that has keys with expiries.
type world struct {
	*Table
	now     engine.Instant
	expiry  map[string]engine.Instant // of the keys that expire
	onLook  func()                    // called before a look, unless nil
	looks   int
	awaited int
	tracks  int64
}

func newWorld() *world {
	w := &world{now: 1e9, expiry: map[string]engine.Instant{}}
	w.Table = New(Options{
		Track: func(n int64) { w.tracks += n },
		Look: func(b *engine.Batch) engine.Instant {
			if w.looks++; w.onLook != nil {
				w.onLook()
			}
			for i := range b.Ops {
				d := engine.Decision{Status: engine.Missing}
				if at, there := w.expiry[string(b.Ops[i].Key)]; there && at > w.now {
					d = engine.Decision{Reset: engine.Span{Millis: int64(at-w.now) / 1e6}}
				} else if strings.HasPrefix(string(b.Ops[i].Key), "lasting") {
					d = engine.Decision{Reset: engine.Never}
				}
				b.Decisions = append(b.Decisions, d)
			}
			return w.now
		},
		Await: func() { w.awaited++ },
	})
	return w
}

// A reader is a client with the messages that it got.
type reader struct {
	*Client
	got []string
}

func newReader(id int64) *reader {
	r := new(reader)
	r.Client = NewClient(id, func(m resp.Message) { r.got = append(r.got, string(m.Three)) })
	return r
}

// take returns the keys of the messages, joined by + within a message, and forgets the
// messages.
func (r *reader) take() string {
	var all []string
	for _, m := range r.got {
		switch head, rest, found := strings.Cut(m, "invalidate\r\n"); {
		case !found || head != ">2\r\n$10\r\n":
			all = append(all, fmt.Sprintf("bad %q", m))
		case rest == "_\r\n":
			all = append(all, "all")
		default:
			words := strings.Split(strings.TrimSuffix(rest, "\r\n"), "\r\n")[1:]
			var keys []string
			for i := 1; i < len(words); i += 2 {
				keys = append(keys, words[i])
			}
			all = append(all, strings.Join(keys, "+"))
		}
	}
	r.got = nil
	return strings.Join(all, " ")
}

func (w *world) read(r *reader, keys ...string) bool {
	var reads []Read
	for _, k := range keys {
		reads = append(reads, Read{Key: []byte(k)})
	}
	return w.Register(r.Client, reads)
}

// change reports changes, each KEY or KEY/ORIGIN; * are all keys.
func (w *world) change(changes ...string) {
	var list []engine.Change
	for _, c := range changes {
		key, by, _ := strings.Cut(c, "/")
		var origin int64
		fmt.Sscan(by, &origin)
		list = append(list, engine.Change{All: key == "*", Key: []byte(key), Origin: origin})
	}
	w.Changed(list)
}

func expect(t *testing.T, event string, r *reader, want string) {
	t.Helper()
	if got := r.take(); got != want {
		t.Errorf("%s: client %d got %q, want %q", event, r.id, got, want)
	}
}

func TestReaders(t *testing.T) {
	w, a, b, c := newWorld(), newReader(1), newReader(2), newReader(3)
	if w.read(a, "k") {
		t.Error("a client tracks before On")
	}
	w.On(a.Client, Mode{}, nil)
	w.On(b.Client, Mode{NoLoop: true}, nil)
	w.On(c.Client, Mode{}, nil)
	w.read(a, "k", "l", "k")
	w.read(b, "k", "m")
	w.read(c, "l", "m")
	if got := w.Sizes(); got != (Sizes{Clients: 3, Keys: 3, Items: 6}) {
		t.Errorf("sizes %+v", got)
	}
	w.change("k", "nope")
	expect(t, "a change", a, "k")
	expect(t, "a change", b, "k")
	expect(t, "a change", c, "")
	w.change("k")
	expect(t, "a change of a key that nobody has read since", a, "")
	w.change("m/2", "l/1")
	expect(t, "a change by another client", a, "l")
	expect(t, "a change of its own with NOLOOP", b, "")
	expect(t, "changes by others", c, "m l")
	if got := w.Sizes(); got != (Sizes{Clients: 3}) {
		t.Errorf("sizes without keys %+v", got)
	}
	w.read(a, "k")
	w.read(b, "k")
	w.Off(a.Client)
	w.Close(b.Client)
	w.change("k")
	expect(t, "off", a, "")
	expect(t, "closed", b, "")
	w.read(c, "k")
	w.change("l", "*", "k")
	expect(t, "all", c, "all")
	if w.change("k"); c.got != nil || w.Sizes().Keys != 0 || w.bytes != 0 {
		t.Errorf("after a change of all keys: %q, %+v, %d bytes", c.got, w.Sizes(), w.bytes)
	}
	w.Off(c.Client)
	if w.Off(c.Client); w.tracks != 0 {
		t.Errorf("%d clients track", w.tracks)
	}
}

// TestBounds: keys beyond the bounds leave the table with a message, also those that are being read.
func TestBounds(t *testing.T) {
	for _, set := range []func(*world){
		func(w *world) { w.SetMax(10) },
		func(w *world) { w.maxBytes = 10 * (entryBytes + 3) },
	} {
		for _, mode := range []Mode{{}, {Broadcast: true}} {
			w, a := newWorld(), newReader(1)
			w.On(a.Client, mode, nil)
			set(w)
			for i := range 100 {
				key := fmt.Sprintf("k%02d", i)
				w.expiry[key] = 9e9
				w.read(a, key)
			}
			told := strings.Fields(a.take())
			slices.Sort(told)
			if got := len(slices.Compact(told)); got != 90 || w.Sizes().Keys != 10 {
				t.Errorf("%+v: %d keys told, %+v left", mode, got, w.Sizes())
			}
		}
	}
	w, a := newWorld(), newReader(1)
	w.On(a.Client, Mode{}, nil)
	w.read(a, "a", "b", "c")
	if w.SetMax(1); len(strings.Fields(a.take())) != 2 || w.Max() != 1 {
		t.Errorf("a lower bound leaves %+v", w.Sizes())
	}
}

func TestExpiry(t *testing.T) {
	w, a, b, other := newWorld(), newReader(1), newReader(2), newReader(3)
	w.On(a.Client, Mode{}, nil)
	w.On(b.Client, Mode{Broadcast: true, NoLoop: true}, []string{"s", "w"})
	w.On(other.Client, Mode{Broadcast: true}, []string{"x"})
	w.expiry = map[string]engine.Instant{"soon": 2e9, "later": 3e9, "written": 2e9, "gone": 2e9}
	w.read(a, "soon", "later", "lasting", "missing", "gone")
	w.read(b, "soon")
	w.change("gone")
	w.change("written/2", "lasting2", "missing2")
	expect(t, "changes", a, "gone")
	expect(t, "its own changes", b, "")
	if w.Expire(1999e6); a.got != nil || !w.Expires() || w.awaited == 0 {
		t.Errorf("too early: %q", a.got)
	}
	w.Expire(2e9)
	expect(t, "expiry", a, "soon")
	got := strings.Fields(b.take())
	if slices.Sort(got); fmt.Sprint(got) != "[soon written]" {
		t.Errorf("a broadcast of expired keys: %q", got)
	}
	expect(t, "expiry of other prefixes", other, "")
	w.Expire(9e9)
	expect(t, "expiry", a, "later")
	if w.Expires() || w.Sizes().Keys != 2 {
		t.Errorf("%+v left", w.Sizes())
	}
}

// TestSecondReaderLooks: a reader that comes while another reader looks for the expiry looks itself,
// because the key may have expired when the first reader looks.
func TestSecondReaderLooks(t *testing.T) {
	w, a, b := newWorld(), newReader(1), newReader(2)
	w.On(a.Client, Mode{}, nil)
	w.On(b.Client, Mode{}, nil)
	w.expiry["k"] = 2e9
	w.onLook = func() {
		w.onLook = nil
		w.read(b, "k")
		w.now = 2e9 // before the first look
	}
	w.read(a, "k")
	w.Expire(2e9)
	expect(t, "expiry", b, "k")
	if w.looks != 2 {
		t.Errorf("%d looks, want 2", w.looks)
	}
}

// TestChangeDuringLook: an expiry that a change has overtaken is dropped.
func TestChangeDuringLook(t *testing.T) {
	w, a := newWorld(), newReader(1)
	w.On(a.Client, Mode{}, nil)
	w.expiry["k"] = 2e9
	w.onLook = func() {
		w.onLook = nil
		w.change("k")
	}
	w.read(a, "k")
	expect(t, "the change", a, "k")
	if w.Expires() {
		t.Error("the expiry is kept")
	}
}

// TestLookupsInBatch: the batch with the reads finds their expiries. A batch without answers finds none,
// and the next reader looks again.
func TestLookupsInBatch(t *testing.T) {
	w, a, all := newWorld(), newReader(1), newReader(2)
	look := w.o.Look
	w.o.Look = nil
	w.On(a.Client, Mode{}, nil)
	w.On(all.Client, Mode{Broadcast: true}, nil)
	w.expiry = map[string]engine.Instant{"k": 2e9, "written": 2e9}
	read := func(status engine.Status) {
		t.Helper()
		b := engine.Batch{Ops: make([]engine.Op, 2)}
		l := w.RegisterIn(a.Client, []Read{{Key: []byte("k")}, {Key: []byte("missing")}}, &b)
		if l == nil || len(b.Ops) != 4 || b.Ops[2].Kind != engine.Peek || string(b.Ops[2].Key) != "k" {
			t.Fatalf("the batch of a read has %+v", b.Ops)
		}
		if look(&b); status != engine.OK {
			b.Decisions[2].Status, b.Decisions[3].Status = status, status
		}
		w.Answered(l, &b, w.now)
	}
	for _, failed := range []engine.Status{engine.Aborted, engine.Down} {
		if read(failed); w.Expires() {
			t.Errorf("a batch with the status %v finds an expiry", failed)
		}
	}
	read(engine.OK)
	if l := w.RegisterIn(all.Client, []Read{{Key: []byte("k")}}, new(engine.Batch)); l != nil {
		t.Error("a known expiry is looked up again")
	}
	w.change("written")
	expect(t, "a change", all, "written")
	w.Expire(2e9)
	expect(t, "expiry", a, "k")
	expect(t, "expiry", all, "k")
	if w.awaited == 0 || w.Sizes().Keys != 1 {
		t.Errorf("%d waits for expiries, %+v left", w.awaited, w.Sizes())
	}
}

func TestBroadcast(t *testing.T) {
	w, all, some, alone := newWorld(), newReader(1), newReader(2), newReader(3)
	w.On(all.Client, Mode{Broadcast: true}, nil)
	w.On(some.Client, Mode{Broadcast: true}, []string{"a", "b"})
	w.On(some.Client, Mode{Broadcast: true}, []string{"c"})
	w.On(alone.Client, Mode{Broadcast: true, NoLoop: true}, nil)
	if got := w.Prefixes(some.Client); fmt.Sprint(got) != "[a b c]" || w.Sizes().Prefixes != 4 {
		t.Errorf("prefixes %q, %+v", got, w.Sizes())
	}
	w.change("a1", "x", "a1", "a2/3", "c/3", "c/1")
	expect(t, "all keys", all, "a1+x+a2+c")
	expect(t, "NOLOOP", alone, "a1+x+c")
	got := strings.Fields(some.take())
	if slices.Sort(got); fmt.Sprint(got) != "[a1+a2 c]" {
		t.Errorf("some prefixes: %q", got)
	}
	w.change("y/3")
	expect(t, "NOLOOP, its own", alone, "")
	w.Off(some.Client)
	if w.change("a"); some.got != nil || w.Sizes().Prefixes != 1 {
		t.Errorf("off: %q, %+v", some.got, w.Sizes())
	}
}

// TestDueListIsBounded: expiries of keys that change again and again are dropped.
func TestDueListIsBounded(t *testing.T) {
	w, a := newWorld(), newReader(1)
	w.On(a.Client, Mode{}, nil)
	w.expiry["k"] = 9e18
	for range 20 * leastDue {
		w.read(a, "k")
		w.change("k")
	}
	if len(w.due) > 2*leastDue {
		t.Errorf("%d expiries of one key", len(w.due))
	}
	w.read(a, "k")
	w.Expire(9e18)
	if n := len(strings.Fields(a.take())); n != 20*leastDue+1 {
		t.Errorf("%d messages", n)
	}
}

func TestMessages(t *testing.T) {
	for _, tt := range []struct {
		got        resp.Message
		two, three string
	}{
		{invalidate([]string{"a", "bc"}),
			"*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n*2\r\n$1\r\na\r\n$2\r\nbc\r\n",
			">2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\na\r\n$2\r\nbc\r\n"},
		{invalidateAll(), "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n$-1\r\n",
			">2\r\n$10\r\ninvalidate\r\n_\r\n"},
		{RedirectBroken(7), "", ">2\r\n$21\r\ntracking-redir-broken\r\n:7\r\n"},
	} {
		if string(tt.got.Two) != tt.two || string(tt.got.Three) != tt.three {
			t.Errorf("%q, %q, want %q, %q", tt.got.Two, tt.got.Three, tt.two, tt.three)
		}
	}
}
