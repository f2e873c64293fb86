package live

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/rules/stored"
	"limitsrv/engine"
)

// A Keeper compiles the rules of a node's engine whenever they change. Concurrency: any
// number of goroutines may call its methods.
type Keeper struct {
	engine  func() *engine.Engine
	log     *slog.Logger
	current atomic.Pointer[State]

	mu        sync.Mutex
	compiling bool // a goroutine does
	waiting   []waiter
	offers    []offer // the last offers
}

// A waiter waits for the rules of a version of the documents.
type waiter struct {
	version uint64
	done    func()
}

// An offer is a text that was compiled for its load, and unless nil the counters that its
// limits continue with when the rules with the counters from are in use.
type offer struct {
	*stored.Prepared
	counts, from *counts
}

// maxOffers bounds the texts that are kept compiled for their loads.
const maxOffers = 2

// New makes a [Keeper] of the rules of an engine. The function may return another engine
// after some time, with a later state of the same history.
func New(of func() *engine.Engine, log *slog.Logger, o Options) *Keeper {
	k := &Keeper{engine: of, log: log}
	k.current.Store(NewState(empty, o))
	return k
}

// Current returns the rules to decide by, never nil. If the rules of the engine are newer,
// they are being compiled. The engine then refuses decisions by the returned rules, and
// Await tells when decisions can be made. Cost: some loads.
func (k *Keeper) Current() *State {
	s := k.current.Load()
	if k.engine().DocumentsVersion(engine.Rules) != s.Version {
		k.mu.Lock()
		k.compile()
		k.mu.Unlock()
	}
	return s
}

// Await calls done once, from any goroutine or before it returns, when Current returns the
// rules that the engine had at the call of Await, or newer rules.
func (k *Keeper) Await(done func()) {
	version := k.engine().DocumentsVersion(engine.Rules)
	k.mu.Lock()
	if k.current.Load().Version < version {
		k.waiting = append(k.waiting, waiter{version, done})
		k.compile()
		done = func() {}
	}
	k.mu.Unlock()
	done()
}

// compile starts a goroutine that compiles until the State is the engine's, unless a
// goroutine runs already. The caller must hold mu.
func (k *Keeper) compile() {
	if !k.compiling {
		k.compiling = true
		go k.follow()
	}
}

// follow compiles until the State is the engine's.
func (k *Keeper) follow() {
	for more := true; more; {
		version, documents := documentsOf(k.engine())
		old := k.current.Load()
		began := time.Now()
		s := old.next(version, documents,
			func(h *stored.Header) (*rules.Set, *counts, error) { return k.compiled(documents, h, old) })
		k.current.Store(s)
		k.report(old, s, time.Since(began))
		more = k.finish(s)
	}
}

// finish releases the callers that wait for a State, and reports whether there is a newer
// State.
func (k *Keeper) finish(s *State) (more bool) {
	k.mu.Lock()
	more = k.engine().DocumentsVersion(engine.Rules) != s.Version
	k.compiling = more
	var ready []waiter
	k.waiting = slices.DeleteFunc(k.waiting, func(w waiter) bool {
		if w.version > s.Version {
			return false
		}
		ready = append(ready, w)
		return true
	})
	k.mu.Unlock()
	for _, w := range ready {
		w.done()
	}
	return more
}

// documentsOf returns the documents of one moment, and their version.
func documentsOf(e *engine.Engine) (uint64, stored.Documents) {
	for {
		version := e.DocumentsVersion(engine.Rules)
		list := e.Documents(engine.Rules)
		if e.DocumentsVersion(engine.Rules) == version {
			return version, list
		}
	}
}

// Offer keeps a compiled text for its load, so that the requests of this node wait only for a
// change of pointers. The next Offers replace it.
func (k *Keeper) Offer(p *stored.Prepared) { k.offer(offer{Prepared: p}) }

// OfferNext is Offer of a text that is to replace the rules of a State. d is their difference.
// Cost: some allocations for each limit.
func (k *Keeper) OfferNext(p *stored.Prepared, s *State, d *rules.Diff) {
	k.offer(offer{p, s.counts.next(p.Set, d), s.counts})
}

func (k *Keeper) offer(o offer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.offers = slices.DeleteFunc(k.offers, func(other offer) bool { return other.SHA == o.SHA })
	if k.offers = append(k.offers, o); len(k.offers) > maxOffers {
		k.offers = slices.Delete(k.offers, 0, 1)
	}
}

var errText = errors.New("a part of the text is missing")

// compiled returns the compiled form of the rules that a Header describes, and unless nil the
// counters that they continue with after a State.
func (k *Keeper) compiled(ds stored.Documents, h *stored.Header, s *State) (*rules.Set, *counts, error) {
	if o, ok := k.takeOffer(h); ok {
		if o.from != s.counts {
			o.counts = nil
		}
		return o.Set, o.counts, nil
	}
	text, ok := ds.Text(h)
	if !ok {
		return nil, nil, errText
	}
	set, err := rules.LoadInUse([]source.File{{Text: []byte(text)}})
	return set, nil, err
}

// takeOffer returns the offer of the text that a Header describes, and forgets it.
func (k *Keeper) takeOffer(h *stored.Header) (o offer, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := slices.IndexFunc(k.offers, func(o offer) bool { return o.SHA == h.SHA })
	if at < 0 {
		return o, false
	}
	o = k.offers[at]
	k.offers = slices.Delete(k.offers, at, at+1)
	return o, true
}

// report logs a change of the rules in use.
func (k *Keeper) report(old, s *State, took time.Duration) {
	switch {
	case s.Err != nil && old.Err == nil:
		k.log.Error("the rules can't be compiled by this version of limitsrv: requests by rules are answered LOADING",
			"version", s.Header.Version)
	case s.Err == nil && s.Header.Version != old.Header.Version:
		k.log.Info("rules in use", "version", s.Header.Version, "sha", s.Header.ShortSHA(), "domains", len(s.Set.Domains()),
			"rules", s.Set.NumRules(), "limits", s.Set.NumLimits(), "compiled_in", took)
	}
}
