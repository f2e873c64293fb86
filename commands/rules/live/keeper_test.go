package live

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/rules/stored"
	"limitsrv/commands/rules/storedtest"
	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

const start = storedtest.Start

func prepare(t testing.TB, text string) *stored.Prepared {
	t.Helper()
	p, err := Prepare([]source.File{{Text: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newKeeper(e *engine.Engine) *Keeper {
	return New(func() *engine.Engine { return e }, slog.New(slog.DiscardHandler), Options{Series: 3})
}

// await waits until a Keeper has caught up, and returns its State.
func await(t testing.TB, k *Keeper) *State {
	t.Helper()
	done := make(chan struct{})
	k.Await(func() { close(done) })
	select {
	case <-done:
	case <-time.After(testwait.Scaled(time.Minute)):
		t.Fatal("the rules are not compiled")
	}
	return k.Current()
}

// verdict matches a request for an address.
func verdict(t testing.TB, s *State, ip string) (rules.Verdict, string) {
	t.Helper()
	var r rules.Result
	q := rules.Request{Domain: []byte("api"),
		Descriptors: []rules.Descriptor{{Entries: []rules.Entry{{Key: []byte("ip"), Value: []byte(ip)}}}}}
	if err := s.Set.Match(&q, s.Overrides, start, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Limits) == 0 {
		return r.Verdict, ""
	}
	return r.Verdict, r.Limits[0].Limit.String()
}

func TestKeeper(t *testing.T) {
	e := storedtest.NewEngine(2)
	k := newKeeper(e)
	wants := func(name string, v rules.Verdict, quota int64) {
		t.Helper()
		s := await(t, k)
		got, _ := verdict(t, s, "1.1.1.1")
		if s.Err != nil || s.Version != e.DocumentsVersion(engine.Rules) || got != v || quota > 0 &&
			s.Set.Limit(0).Quota != quota {
			t.Errorf("%s: %v by version %d of %d, error %v", name, got, s.Version, e.DocumentsVersion(engine.Rules), s.Err)
		}
	}
	wants("no rules", rules.None, 0)
	storedtest.Load(t, e, start, 0, storedtest.File("5/minute"), "", "")
	wants("rules", rules.Limited, 5)
	set := func(ip string) {
		storedtest.Do(t, e, start, func(c *engine.Call) { stored.SetOverride(c, storedtest.Deny(t, ip), 0, "") })
	}
	set("1.1.1.1")
	wants("an override", rules.Denied, 5)
	before := k.Current()
	set("2.2.2.2")
	if after := await(t, k); after.Set != before.Set || before.Overrides.Len() != 1 || after.Overrides.Len() != 2 {
		t.Errorf("an override: other rules %v, %d overrides after %d", after.Set != before.Set, after.Overrides.Len(),
			before.Overrides.Len())
	}
	storedtest.Load(t, e, start, 1, storedtest.File("6/minute"), "", "")
	wants("other rules", rules.Denied, 6)
	for _, ip := range []string{"1.1.1.1", "2.2.2.2"} {
		storedtest.Do(t, e, start, func(c *engine.Call) { stored.SetDropOverride(c, storedtest.Deny(t, ip)) })
	}
	wants("no overrides", rules.Limited, 6)
	set("1.1.1.1")
	other := newKeeper(storedtest.Reloaded(t, e, 8))
	if got, _ := verdict(t, await(t, other), "1.1.1.1"); got != rules.Denied {
		t.Errorf("from a snapshot: %v", got)
	}
	s := await(t, other)
	if s.Version != e.DocumentsVersion(engine.Rules) || s.Set.Limit(0).Quota != 6 || s.Overrides.Len() != 1 {
		t.Errorf("from a snapshot: %+v", s)
	}
}

// TestEngineIsReplaced: after a snapshot of the leader was installed, another engine has the
// rules.
func TestEngineIsReplaced(t *testing.T) {
	var now atomic.Pointer[engine.Engine]
	e := storedtest.NewEngine(2)
	now.Store(e)
	k := New(now.Load, slog.New(slog.DiscardHandler), Options{Series: 3})
	storedtest.Load(t, e, start, 0, storedtest.File("5/minute"), "", "")
	await(t, k)
	next := storedtest.Reloaded(t, e, 4)
	storedtest.Load(t, next, start, 1, storedtest.File("7/minute"), "", "")
	now.Store(next)
	if s := await(t, k); s.Set.Limit(0).Quota != 7 {
		t.Errorf("rules of version %d", s.Header.Version)
	}
}

// TestPreparedIsNotCompiledAgain: the node that compiled a text for its load uses that form.
func TestPreparedIsNotCompiledAgain(t *testing.T) {
	e := storedtest.NewEngine(1)
	k := newKeeper(e)
	p := prepare(t, storedtest.File("5/minute"))
	for i := range maxOffers + 1 {
		k.Offer(prepare(t, storedtest.File(fmt.Sprint(i+8, "/minute"))))
	}
	k.Offer(p)
	storedtest.Do(t, e, start, func(c *engine.Call) { stored.SetLoad(c, 0, p, "", "") })
	if s := await(t, k); s.Set != p.Set {
		t.Error("it was compiled again")
	}
	if len(k.offers) >= maxOffers {
		t.Errorf("%d texts are kept", len(k.offers))
	}
}

// TestOfferKeepsCounters: counters go on over a load that was offered with them, unless other
// rules that lack the limit were loaded in between.
func TestOfferKeepsCounters(t *testing.T) {
	for _, between := range []bool{false, true} {
		e := storedtest.NewEngine(1)
		k := newKeeper(e)
		storedtest.Load(t, e, start, 0, storedtest.File("5/minute"), "", "")
		s := await(t, k)
		for range 3 {
			s.count(0, 0, nil, Allowed)
		}
		next := prepare(t, storedtest.File("7/minute"))
		d := rules.Compare(s.Set, next.Set)
		k.OfferNext(next, s, &d)
		base, want := uint64(1), int64(3)
		if between {
			storedtest.Load(t, e, start, base, "domain: api\nrules:\n  - {name: other, limits: 1/s}\n", "", "")
			await(t, k)
			base, want = base+1, 0
		}
		storedtest.Do(t, e, start, func(c *engine.Call) { stored.SetLoad(c, base, next, "", "") })
		if s = await(t, k); s.Set != next.Set || s.Counts(0)[Allowed] != want {
			t.Errorf("rules between %v: %v counted, want %d", between, s.Counts(0), want)
		}
	}
}

// BenchmarkSwitch measures how long requests of the loading node wait for a load, with 100
// 000 limits.
func BenchmarkSwitch(b *testing.B) {
	e := storedtest.NewEngine(4)
	k := newKeeper(e)
	var texts [2]*stored.Prepared
	for i := range texts {
		var text strings.Builder
		text.WriteString("domain: api\nrules:\n")
		for rule := range source.MaxRules {
			fmt.Fprintf(&text, "  - {name: r%d, match: {path: /p%d}, per: [ip], limits: %d/minute}\n", rule, rule, 5+i)
		}
		texts[i] = prepare(b, text.String())
	}
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		p, s := texts[i%2], await(b, k)
		d := rules.Compare(s.Set, p.Set)
		k.OfferNext(p, s, &d)
		b.StartTimer()
		storedtest.Do(b, e, start, func(c *engine.Call) { stored.SetLoad(c, s.Header.Version, p, "", "") })
		await(b, k)
	}
}

// TestNewerRules: rules of a later version of the program stop the decisions, and never leave
// older rules in use.
func TestNewerRules(t *testing.T) {
	good := prepare(t, storedtest.File("5/minute"))
	sha := string(good.SHA[:])
	for name, replace := range map[string]func(header, text string) (string, string){
		"a header of another format": func(header, text string) (string, string) { return "\xff" + header[1:], text },
		"a header that is cut":       func(header, text string) (string, string) { return header[:9], text },
		"a text of another length": func(header, text string) (string, string) {
			return strings.Replace(header, sha, strings.Repeat("x", len(sha)), 1), text + "\n"
		},
	} {
		e := engine.New(engine.Options{Commands: forger{&spec.Calls{3: stored.Calls{}}}})
		k := newKeeper(e)
		storedtest.Load(t, e, start, 0, string(good.Text), "", "")
		await(t, k)
		header, text := documentWith(t, e, sha), documentWith(t, e, string(good.Text))
		badHeader, badText := replace(header.Text, text.Text)
		forge(e, text.Name, badText)
		forge(e, header.Name, badHeader)
		s := await(t, k)
		if s.Err != errNeedsNewer || s.Set.NumLimits() != 0 {
			t.Errorf("%s: error %v and %d limits", name, s.Err, s.Set.NumLimits())
		}
		forge(e, text.Name, text.Text)
		forge(e, header.Name, header.Text)
		if s := await(t, k); s.Err != nil || s.Set.Limit(0).Quota != 5 {
			t.Errorf("%s, then good rules: error %v", name, s.Err)
		}
		v := storedtest.Deny(t, "1.1.1.1")
		storedtest.Do(t, e, start, func(c *engine.Call) { stored.SetOverride(c, v, 0, "its user") })
		row := documentWith(t, e, "its user")
		forge(e, row.Name, row.Text[:8]+"\xff"+row.Text[9:]) // its format is after its end
		if s := await(t, k); s.Err != errNeedsNewer {
			t.Errorf("an override of another format: error %v", s.Err)
		}
	}
}

// documentWith returns the document with a part in its text.
func documentWith(t *testing.T, e *engine.Engine, part string) *engine.Document {
	t.Helper()
	for _, d := range e.Documents(engine.Rules) {
		if strings.Contains(d.Text, part) {
			return d
		}
	}
	t.Fatalf("no document has %q", part)
	return nil
}

// forger has the calls of stored, and a call that sets any document.
type forger struct{ *spec.Calls }

func (forger) Level() uint8 { return 1 }

const callForge = 1<<16 - 1

func (f forger) Keys(c *engine.Call, dst []int) ([]int, bool) {
	if c.Command == callForge {
		return dst, true
	}
	return f.Calls.Keys(c, dst)
}

func (f forger) Do(tx *engine.Tx, c *engine.Call) {
	if c.Command == callForge {
		if err := tx.SetDocument(engine.Rules, string(c.Args[0]), string(c.Args[1])); err != nil {
			panic(err)
		}
		return
	}
	f.Calls.Do(tx, c)
}

func forge(e *engine.Engine, name, text string) {
	var b engine.Batch
	c := b.AddCall(0)
	c.Command, c.Args = callForge, [][]byte{[]byte(name), []byte(text)}
	e.Apply(start, &b)
}

// TestRaceKeeper loads rules and sets overrides while other goroutines match, each by rules
// of the same version as a whole.
func TestRaceKeeper(t *testing.T) {
	e := storedtest.NewEngine(4)
	k := newKeeper(e)
	storedtest.Load(t, e, start, 0, storedtest.File("1/minute"), "", "")
	await(t, k)
	var readers, writers sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			for last := uint64(0); ; {
				select {
				case <-stop:
					return
				default:
				}
				s := k.Current()
				if s.Version < last {
					t.Errorf("version %d after %d", s.Version, last)
				}
				last = s.Version
				if q := uint64(s.Set.Limit(0).Quota); q != s.Header.Version {
					t.Errorf("limit %d of version %d", q, s.Header.Version)
				}
				verdict(t, s, "1.1.1.1")
				s.count(int(last), 0, nil, Allowed)
			}
		})
	}
	var mu sync.Mutex // a single node has a single writer of its log
	version := uint64(1)
	for g := range 3 {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range 60 {
				mu.Lock()
				if r.IntN(3) == 0 {
					storedtest.Load(t, e, start, version, storedtest.File(fmt.Sprint(version+1, "/minute")), "", "")
					version++
				} else {
					storedtest.Do(t, e, start,
						func(c *engine.Call) { stored.SetOverride(c, storedtest.Deny(t, fmt.Sprint(r.IntN(20))), 0, "") })
				}
				want := e.DocumentsVersion(engine.Rules)
				mu.Unlock()
				if s := await(t, k); s.Version < want {
					t.Errorf("version %d after the wait for %d", s.Version, want)
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	s := await(t, k)
	if rows := slices.Collect(s.Documents.ListOverrides(start)); s.Header.Version != version ||
		s.Overrides.Len() != len(rows) {
		t.Errorf("version %d with %d overrides, want %d", s.Header.Version, s.Overrides.Len(), version)
	}
}

// BenchmarkOverride sets an override among 10 000, and compiles it.
func BenchmarkOverride(b *testing.B) {
	e := storedtest.NewEngine(4)
	k := newKeeper(e)
	for i := range stored.MaxOverrides {
		storedtest.Do(b, e, start, func(c *engine.Call) { stored.SetOverride(c, storedtest.Deny(b, fmt.Sprint(i)), 0, "") })
	}
	await(b, k)
	for i := 0; b.Loop(); i++ {
		storedtest.Do(b, e, start, func(c *engine.Call) {
			stored.SetOverride(c, storedtest.Deny(b, fmt.Sprint(i%stored.MaxOverrides)), 0, "")
		})
		await(b, k)
	}
}
