package ruleset

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/source"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

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
	q := rules.Request{Domain: []byte("api"), Descriptors: []rules.Descriptor{{Entries: []rules.Entry{{Key: []byte("ip"), Value: []byte(ip)}}}}}
	if err := s.Set.Match(&q, s.Overrides, start, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Limits) == 0 {
		return r.Verdict, ""
	}
	return r.Verdict, r.Limits[0].Limit.String()
}

func TestKeeper(t *testing.T) {
	e := newEngine(2)
	k := newKeeper(e)
	wants := func(name string, v rules.Verdict, quota int64) {
		t.Helper()
		s := await(t, k)
		got, _ := verdict(t, s, "1.1.1.1")
		if s.Err != nil || s.Version != e.DocumentsVersion(engine.Rules) || got != v || quota > 0 && s.Set.Limit(0).Quota != quota {
			t.Errorf("%s: %v by version %d of %d, error %v", name, got, s.Version, e.DocumentsVersion(engine.Rules), s.Err)
		}
	}
	wants("no rules", rules.None, 0)
	load(t, e, start, 0, file("5/minute"), "", "")
	wants("rules", rules.Limited, 5)
	set := func(ip string) { do(t, e, start, func(c *engine.Call) { SetOverride(c, deny(t, ip), 0, "") }) }
	set("1.1.1.1")
	wants("an override", rules.Denied, 5)
	before := k.Current()
	set("2.2.2.2")
	if after := await(t, k); after.Set != before.Set || before.Overrides.Len() != 1 || after.Overrides.Len() != 2 {
		t.Errorf("an override: other rules %v, %d overrides after %d", after.Set != before.Set, after.Overrides.Len(), before.Overrides.Len())
	}
	load(t, e, start, 1, file("6/minute"), "", "")
	wants("other rules", rules.Denied, 6)
	for _, ip := range []string{"1.1.1.1", "2.2.2.2"} {
		do(t, e, start, func(c *engine.Call) { SetDropOverride(c, deny(t, ip)) })
	}
	wants("no overrides", rules.Limited, 6)
	set("1.1.1.1")
	other := newKeeper(reloaded(t, e, 8))
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
	e := newEngine(2)
	now.Store(e)
	k := New(now.Load, slog.New(slog.DiscardHandler), Options{Series: 3})
	load(t, e, start, 0, file("5/minute"), "", "")
	await(t, k)
	next := reloaded(t, e, 4)
	load(t, next, start, 1, file("7/minute"), "", "")
	now.Store(next)
	if s := await(t, k); s.Set.Limit(0).Quota != 7 {
		t.Errorf("rules of version %d", s.Header.Version)
	}
}

// TestPreparedIsNotCompiledAgain: the node that compiled a text for its load uses that form.
func TestPreparedIsNotCompiledAgain(t *testing.T) {
	e := newEngine(1)
	k := newKeeper(e)
	p := prepare(t, file("5/minute"))
	for i := range maxOffers + 1 {
		k.Offer(prepare(t, file(fmt.Sprint(i+8, "/minute"))))
	}
	k.Offer(p)
	do(t, e, start, func(c *engine.Call) { SetLoad(c, 0, p, "", "") })
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
		e := newEngine(1)
		k := newKeeper(e)
		load(t, e, start, 0, file("5/minute"), "", "")
		s := await(t, k)
		for range 3 {
			s.count(0, 0, nil, Allowed)
		}
		next := prepare(t, file("7/minute"))
		d := rules.Compare(s.Set, next.Set)
		k.OfferNext(next, s, &d)
		base, want := uint64(1), int64(3)
		if between {
			load(t, e, start, base, "domain: api\nrules:\n  - {name: other, limits: 1/s}\n", "", "")
			await(t, k)
			base, want = base+1, 0
		}
		do(t, e, start, func(c *engine.Call) { SetLoad(c, base, next, "", "") })
		if s = await(t, k); s.Set != next.Set || s.Counts(0)[Allowed] != want {
			t.Errorf("rules between %v: %v counted, want %d", between, s.Counts(0), want)
		}
	}
}

// BenchmarkSwitch measures the time for which requests of the loading node wait for a load,
// with 100 000 limits.
func BenchmarkSwitch(b *testing.B) {
	e := newEngine(4)
	k := newKeeper(e)
	var texts [2]*Prepared
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
		do(b, e, start, func(c *engine.Call) { SetLoad(c, s.Header.Version, p, "", "") })
		await(b, k)
	}
}

// TestNewerRules: rules of a later version of the program stop the decisions, and never leave
// older ones in use.
func TestNewerRules(t *testing.T) {
	for name, text := range map[string]string{
		"a header of another format": string(append([]byte{headerFormat + 1}, "anything"...)),
		"a header that is cut":       string((&Header{Version: 2, Parts: 1}).appendTo(nil)[:9]),
		"a text that is not there":   string((&Header{Version: 2, Parts: 1, Bytes: 9}).appendTo(nil)),
	} {
		e := engine.New(engine.Options{Commands: forger{Commands{}}})
		k := newKeeper(e)
		load(t, e, start, 0, file("5/minute"), "", "")
		await(t, k)
		forge(e, headerName, text)
		s := await(t, k)
		if s.Err != errNeedsNewer || s.Set.NumLimits() != 0 {
			t.Errorf("%s: error %v and %d limits", name, s.Err, s.Set.NumLimits())
		}
		good := prepare(t, file("5/minute"))
		forge(e, headerName, string((&Header{Version: 1, SHA: good.SHA, Parts: 1, Bytes: len(good.Text)}).appendTo(nil)))
		if s := await(t, k); s.Err != nil || s.Set.Limit(0).Quota != 5 {
			t.Errorf("%s, then good rules: error %v", name, s.Err)
		}
		forge(e, domainPrefix("api")+strings.Repeat("0", 64), "\x00\x00\x00\x00\x00\x00\x00\x00\x09")
		if s := await(t, k); s.Err != errNeedsNewer {
			t.Errorf("an override of another format: error %v", s.Err)
		}
	}
}

// forger has the calls of Commands, and one that sets any document.
type forger struct{ Commands }

func (forger) Level() uint8 { return 1 }

const callForge = firstCall + 500

func (f forger) Keys(c *engine.Call, dst []int) ([]int, bool) {
	if c.Command == callForge {
		return dst, true
	}
	return f.Commands.Keys(c, dst)
}

func (f forger) Do(tx *engine.Tx, c *engine.Call) {
	if c.Command == callForge {
		mustSet(tx, string(c.Args[0]), string(c.Args[1]))
		return
	}
	f.Commands.Do(tx, c)
}

func forge(e *engine.Engine, name, text string) {
	var b engine.Batch
	set(b.AddCall(0), callForge, []byte(name), []byte(text))
	e.Apply(start, &b)
}

// TestRaceKeeper loads rules and sets overrides while others match, each by rules of one
// version as a whole.
func TestRaceKeeper(t *testing.T) {
	e := newEngine(4)
	k := newKeeper(e)
	load(t, e, start, 0, file("1/minute"), "", "")
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
	var mu sync.Mutex // one node has one writer of its log
	version := uint64(1)
	for g := range 3 {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range 60 {
				mu.Lock()
				if r.IntN(3) == 0 {
					load(t, e, start, version, file(fmt.Sprint(version+1, "/minute")), "", "")
					version++
				} else {
					do(t, e, start, func(c *engine.Call) { SetOverride(c, deny(t, fmt.Sprint(r.IntN(20))), 0, "") })
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
	if s := await(t, k); s.Header.Version != version || s.Overrides.Len() != len(withPrefix(e.Documents(engine.Rules), overridePrefix)) {
		t.Errorf("version %d with %d overrides, want %d", s.Header.Version, s.Overrides.Len(), version)
	}
}

// BenchmarkOverride sets an override among 10 000, and compiles it.
func BenchmarkOverride(b *testing.B) {
	e := newEngine(4)
	k := newKeeper(e)
	for i := range MaxOverrides {
		do(b, e, start, func(c *engine.Call) { SetOverride(c, deny(b, fmt.Sprint(i)), 0, "") })
	}
	await(b, k)
	for i := 0; b.Loop(); i++ {
		do(b, e, start, func(c *engine.Call) { SetOverride(c, deny(b, fmt.Sprint(i%MaxOverrides)), 0, "") })
		await(b, k)
	}
}
