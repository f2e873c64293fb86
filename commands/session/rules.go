package session

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/live"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/rules/stored"
	"limitsrv/engine"
	"limitsrv/internal/pace"
	"limitsrv/internal/status"
)

// A RulesLoad is a text of rules to be loaded.
type RulesLoad struct {
	Files []source.File
	// Text, unless nil, is the text in place of Files.
	Text *stored.Prepared
	// Expect is the version of the rules that it is to replace, or -1 for any.
	Expect int64
	// DryRun only compares the text with the rules in use.
	DryRun bool
	Note   string
	// User and Addr are for the log; Source is command or file.
	User, Addr, Source string
}

// A RulesLoaded describes a load that was done, or a dry run.
type RulesLoaded struct {
	Version                            uint64 // of the rules in use then
	Added, Changed, Removed, Restarted int    // limits, as in rules.Diff
}

// loadWait bounds the time until this node's own rules have followed a load or the leader.
const loadWait = 10 * time.Second

var errRulesBehind = resp.NewError("LOADING",
	fmt.Sprintf("this node did not get the rules of the leader within %v; nothing was loaded", loadWait))

// LoadRules compiles a text and makes it the rules of all nodes. If the nodes have this text
// already, nothing changes. Before it returns, it waits up to loadWait until Current of this node
// has the rules.
//
// Errors: the first mistake in the text with its place; a version other than Expect; an error of
// the batch. If ctx ends before the change is proposed, the error is the cause. If ctx ends later,
// LoadRules returns the answer or ErrUncertain. Cost: the compilation; it blocks. Concurrency: any
// number of goroutines may call it.
func (h *Handler) LoadRules(ctx context.Context, l RulesLoad) (r RulesLoaded, err error) {
	defer func() {
		if err != nil {
			h.rules.failed.Add(1)
		}
	}()
	p := l.Text
	if p == nil {
		if err := h.rules.begin(ctx); err != nil {
			return r, err
		}
		defer h.rules.end()
		if p, err = live.Prepare(l.Files); err != nil {
			return r, err
		}
	}
	least := uint64(0)
	for range maxAsks {
		s, err := h.rulesFrom(ctx, least)
		if err != nil {
			return r, err
		}
		base := s.Header.Version
		if l.Expect >= 0 && base != uint64(l.Expect) {
			if least, err = h.rulesVersion(ctx); err != nil {
				return r, err
			}
			if least != uint64(l.Expect) {
				return r, resp.NewError("ERR", fmt.Sprintf("rules are at version %d, not %d", least, l.Expect))
			}
			continue
		}
		var d rules.Diff
		pace.Background(func() {
			if d = rules.Compare(s.Set, p.Set); !l.DryRun {
				h.config.Rules.OfferNext(p, s, &d)
			}
		})
		r = RulesLoaded{base, d.Added, d.Changed, d.Removed, d.Restarted}
		if l.DryRun {
			return r, nil
		}
		a, err := h.proposeRules(ctx, base, p, &l)
		switch {
		case err != nil:
			return r, err
		case a.Unchanged:
			return RulesLoaded{Version: a.Version}, nil
		case a.Loaded:
			r.Version = a.Version
			h.audit.write(auditRules, "rules changed", "version", r.Version, "from", base, "added", r.Added, "changed",
				r.Changed, "removed", r.Removed, "restarted", r.Restarted,
				"sha", fmt.Sprintf("%x", p.SHA[:6]), "user", l.User, "addr", l.Addr, "source", l.Source)
			_, _ = h.rulesFrom(ctx, a.Version) // it is loaded in any case
			return r, nil
		}
		least = a.Version
	}
	return r, errRulesChange
}

// proposeRules has the nodes apply a load in place of version base.
func (h *Handler) proposeRules(ctx context.Context, base uint64, p *stored.Prepared,
	l *RulesLoad) (stored.LoadAnswer, error) {
	var b engine.Batch
	stored.SetLoad(b.AddCall(0), base, p, l.User, l.Note)
	if err := h.apply(ctx, &b); err != nil {
		return stored.LoadAnswer{}, err
	}
	return stored.ReadLoad(b.Calls[0].Answer)
}

// rulesVersion returns the version of the rules, in a cluster the leader's version.
func (h *Handler) rulesVersion(ctx context.Context) (uint64, error) {
	var b engine.Batch
	stored.SetVersion(b.AddCall(0))
	if err := h.apply(ctx, &b); err != nil {
		return 0, err
	}
	return stored.ReadVersion(b.Calls[0].Answer)
}

// apply executes a batch. It blocks. After an error the caller must not use the batch again.
func (h *Handler) apply(ctx context.Context, b *engine.Batch) error {
	err := h.await(ctx, b)
	if err == nil && anyIs(b.Decisions, engine.Down) {
		return ErrDown
	}
	return err
}

// rulesFrom returns this node's rules when they have version least or a later version. It
// blocks.
func (h *Handler) rulesFrom(ctx context.Context, least uint64) (*live.State, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, loadWait, errRulesBehind)
	defer cancel()
	for pause := time.Millisecond; ; pause *= 2 {
		done := make(chan struct{})
		h.config.Rules.Await(func() { close(done) })
		select {
		case <-done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		switch s := h.config.Rules.Current(); {
		case s.Err != nil:
			return nil, s.Err
		case s.Header.Version >= least:
			return s, nil
		}
		select { // entries of the leader are on their way to this node
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// CurrentRules returns the rules of this node when they have been compiled. It blocks. Errors
// come from ctx and from the State, and there is LOADING after some seconds.
func (h *Handler) CurrentRules(ctx context.Context) (*live.State, error) {
	return h.rulesFrom(ctx, 0)
}

// latestRules returns the rules of this node, if they are the rules that the deciding node had at
// some time during the call. If stale is true, it returns the rules that this node has. It blocks.
func (h *Handler) latestRules(ctx context.Context, stale bool) (*live.State, error) {
	caller := backend.NewCaller()
	for attempt := range maxAsks {
		current, err := h.rulesFrom(ctx, 0)
		if err != nil {
			return nil, err
		}
		b := &engine.Batch{Stale: stale, Ops: []engine.Op{
			engine.NeedsOf(engine.Rules, current.Version, 1),
			// it takes nothing
			{Key: []byte(rules.KeyPrefix), Params: engine.Params{Alg: engine.Fixed, Limit: 1, Period: engine.MinPeriod}},
		}}
		if err := h.executor.Await(ctx, caller, b); err != nil {
			return nil, err
		}
		if !anyIs(b.Decisions, engine.Stale) {
			return current, nil
		}
		if err := h.waitForRules(ctx, caller, attempt); err != nil {
			return nil, err
		}
	}
	return nil, errRulesChange
}

// CurrentRules calls use once this node has compiled the latest rules; use writes the reply.
// Requires: a run command calls it.
func (s *Session) CurrentRules(use func(w *resp.Writer, rules *live.State)) {
	var current *live.State
	stale := s.stale
	s.Defer(func(done func(error)) (func(), error) {
		s.h.config.Spawn(func() {
			var err error
			current, err = s.h.latestRules(s.h.serving, stale)
			done(resp.Expose(err))
		})
		return nil, nil
	}, func(w *resp.Writer) { use(w, current) })
}

// Perform lets a run command reply after a batch of its own was decided.
func (s *Session) Perform(b *engine.Batch, reply func(w *resp.Writer)) {
	s.Defer(func(done func(error)) (func(), error) {
		s.h.executor.Gather(b, done)
		return nil, nil
	}, func(w *resp.Writer) {
		if anyIs(b.Decisions, engine.Down) {
			w.Error(ErrDown)
			return
		}
		reply(w)
	})
}

// Bounds of the loads of texts that are not prepared yet: mostLoads at a time, since each has a thread
// and compiled rules in memory, and mostLoadsWaiting wait for them, each with its text.
const (
	mostLoads        = 2
	mostLoadsWaiting = 16
)

var errManyLoads = resp.NewError("ERR",
	fmt.Sprintf("%d other texts of rules wait to be loaded, and at most as many may wait; nothing was loaded",
		mostLoadsWaiting))

// begin waits until a text may be loaded. Requires: end is called after it, unless it returns an
// error.
func (l *ruleLoads) begin(ctx context.Context) error {
	if l.waiting.Add(1) > mostLoads+mostLoadsWaiting {
		l.waiting.Add(-1)
		return errManyLoads
	}
	select {
	case l.running <- struct{}{}:
		return nil
	case <-ctx.Done():
		l.waiting.Add(-1)
		return context.Cause(ctx)
	}
}

func (l *ruleLoads) end() {
	<-l.running
	l.waiting.Add(-1)
}

// ruleLoads is the state of the loads of a node.
type ruleLoads struct {
	waiting atomic.Int64  // the loads between begin and end, running or not
	running chan struct{} // has an element for each that runs
	failed  atomic.Int64
	file    atomic.Pointer[string] // the error of the rules' file; nil: no error
	// differs is set while the files of --rules have another text than the rules in use.
	differs atomic.Bool
}

// LoadsRules reports whether this node loads its files of --rules: it is alone, or leads.
func (h *Handler) LoadsRules() bool {
	r := h.Replication()
	return r.Role == "" || r.Role == status.Leader && r.HasQuorum
}

// RulesFailed returns the number of loads that failed, and the error of the last reading of the
// files of --rules, "" if there is no error.
func (h *Handler) RulesFailed() (loads int64, file string) {
	if text := h.rules.file.Load(); text != nil {
		file = *text
	}
	return h.rules.failed.Load(), file
}

// RulesFileDiffers reports whether the files of --rules have another text than the rules in use.
func (h *Handler) RulesFileDiffers() bool { return h.rules.differs.Load() }

// SetRulesFileDiffers sets RulesFileDiffers.
func (h *Handler) SetRulesFileDiffers(differs bool) { h.rules.differs.Store(differs) }

// RulesOK reports whether the rules in use can be compiled, and are the rules of --rules, if it is
// given.
func (h *Handler) RulesOK() bool {
	_, wrong := h.RulesFailed()
	return wrong == "" && !h.RulesFileDiffers() && h.config.Rules.Current().Err == nil
}

// SetRulesFile sets the error of the last reading of the files of --rules, and counts it as a
// load that failed; nil for no error.
func (h *Handler) SetRulesFile(err error) {
	if err == nil {
		h.rules.file.Store(nil)
		return
	}
	h.rules.failed.Add(1)
	text := err.Error()
	h.rules.file.Store(&text)
}
