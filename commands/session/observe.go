package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"limitsrv/commands/auth"
	"limitsrv/commands/backend"
	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/internal/status"
)

// The parts and the status of a Handler, for commands, the metrics and the admin page.
// Cost of each unless noted: a few loads and short locks.

// Config returns the configuration, with the defaults in place of absent parts. It must not
// be changed.
func (h *Handler) Config() *Config { return &h.config }

// Registry returns the commands.
func (h *Handler) Registry() *Registry { return h.registry }

// Logins returns the users of the server and their logins.
func (h *Handler) Logins() *auth.Logins { return h.logins }

// Stats returns the counters.
func (h *Handler) Stats() *Stats { return h.stats }

// Hub returns the subscriptions.
func (h *Handler) Hub() *Hub { return h.hub }

// SlowLog returns the log of slow commands.
func (h *Handler) SlowLog() *SlowLog { return h.slow }

// Engine returns the keys of the current engine, see Config.Engine, for reads outside of batches.
func (h *Handler) Engine() backend.State {
	if h.config.State != nil {
		return h.config.State
	}
	return backend.LocalState{Engine: h.config.Engine()}
}

// Pause is CLIENT PAUSE: it holds back commands that write, or all, for a time; if there
// is a pause already, the later end and the wider scope count.
func (h *Handler) Pause(d time.Duration, all bool) { h.pause.begin(d, all) }

// Unpause ends CLIENT PAUSE if there is a pause.
func (h *Handler) Unpause() { h.pause.end() }

// RunID returns 40 hexadecimal digits, new at each start.
func (h *Handler) RunID() string { return h.runID }

// A CommandCount holds the calls of a command since the start, or since CONFIG RESETSTAT.
type CommandCount struct {
	Name     string
	Calls    int64 // executed, with or without an error
	Failed   int64 // of Calls: answered with an error
	Rejected int64 // not executed: arity, login, loading
}

// CommandCounts returns the counts of all commands that were called.
func (h *Handler) CommandCounts() (all []CommandCount) {
	for _, c := range h.registry.Specs() {
		if t := h.stats.Command(c.ID); t.Calls+t.Rejected > 0 {
			all = append(all, CommandCount{c.FullName, t.Calls, t.Failed, t.Rejected})
		}
	}
	return all
}

// CountScripts adds the calls by scripts to the counts of the commands. number returns the number of
// a command for engine.Engine.CommandCount, by its name in capitals. A container has
// the number of its first subcommand that scripts may call. CountScripts must be called before the first session.
func (h *Handler) CountScripts(number func(name string) (n int, counted bool)) {
	numbers := make(map[int]int)
	for _, c := range h.registry.All {
		n, counted := number(c.Name)
		if !counted {
			continue
		}
		id := c.ID
		if i := slices.IndexFunc(c.Subs, (*Spec).inScripts); i >= 0 {
			id = c.Subs[i].ID
		}
		numbers[id] = n
	}
	h.stats.scripted = scripted{engine: h.config.Engine, numbers: numbers}
}

// inScripts reports whether scripts may call a subcommand.
func (c *Spec) inScripts() bool { return c.Flags&spec.NoScript == 0 && c.Keys.Step > 0 }

// Denied counts, since the start, failed logins including those denied without a check,
// commands denied because a group is missing, and commands denied because of a key.
type Denied struct{ Logins, Commands, Keys int64 }

// Denied costs three atomic loads.
func (h *Handler) Denied() Denied {
	return Denied{h.logins.Failed(), h.denied.commands.Load(), h.denied.keys.Load()}
}

// Connected returns the number of sessions.
func (h *Handler) Connected() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sessions)
}

// Now returns the time of decisions.
func (h *Handler) Now() engine.Instant { return h.config.Clock.Now() }

// StoreStatus returns the status of the Store.
func (h *Handler) StoreStatus() status.Store { return h.config.Store.Status() }

// Events returns the state of the events at thresholds.
func (h *Handler) Events() status.Events {
	if h.config.Events == nil {
		return status.Events{}
	}
	return h.config.Events.Status()
}

// Replication returns the replication state of the Cluster.
func (h *Handler) Replication() status.Replication { return h.config.Cluster.Replication() }

// Nodes returns the nodes of the Cluster, this node first; nil if there are no other nodes.
func (h *Handler) Nodes() []status.Node {
	if h.Replication().Role == "" {
		return nil
	}
	return h.config.Cluster.Nodes(h.Option("listen"))
}

// Options returns the server's options, or nil.
func (h *Handler) Options() []Option {
	if h.config.Options == nil {
		return nil
	}
	return h.config.Options()
}

// Option returns the value of one of Options; empty if there is no such option.
func (h *Handler) Option(name string) string {
	for _, o := range h.Options() {
		if o.Name == name {
			return o.Value
		}
	}
	return ""
}

// Started returns the time when the Handler was made.
func (h *Handler) Started() time.Time { return h.start }

// Version returns the version of the server.
func (h *Handler) Version() string { return h.config.Version }

// IsLoading reports that the state is loading.
func (h *Handler) IsLoading() bool { return h.hooks.Load()&loading != 0 }

// Serving is done after Drain: the server shuts down.
func (h *Handler) Serving() context.Context { return h.serving }

// IsDraining reports that Drain was called.
func (h *Handler) IsDraining() bool { return h.serving.Err() != nil }

// RequestCounts returns the requests to this node, since the start, by command and protocol, for
// commands and protocols with at least one. Commands that scripts call are not requests.
func (h *Handler) RequestCounts() (all []RequestCount) {
	add := func(via string, of func(stripe int) *outcomeCounts) {
		c := RequestCount{Via: via}
		for i := range stripes {
			if counts := of(i); counts != nil {
				for o := range counts {
					c.N[o] += counts[o].Load()
				}
			}
		}
		if c.N != [Outcomes]int64{} {
			all = append(all, c)
		}
	}
	for _, c := range h.registry.Specs() {
		if c.Flags&spec.Decides != 0 {
			add(strings.ToLower(c.FullName), func(i int) *outcomeCounts { return h.stats.stripes[i][c.ID].requests.Load() })
		}
	}
	for p, via := range [protocols]string{GRPC: "grpc", HTTP: "http"} {
		add(via, func(i int) *outcomeCounts { return &h.stats.others[i][p] })
	}
	return all
}

// Requests returns the sum of RequestCounts.
func (h *Handler) Requests() (n [Outcomes]int64) {
	for _, c := range h.RequestCounts() {
		for o := range n {
			n[o] += c.N[o]
		}
	}
	return n
}

// CountFailure counts a request of another protocol that was answered with an error before Check
// was called.
func (h *Handler) CountFailure(protocol Protocol) { h.countOther(protocol, WasError) }

// countOther counts a request of another protocol.
func (h *Handler) countOther(protocol Protocol, o Outcome) {
	if o < Outcomes {
		h.stats.others[h.stats.next.Add(1)%stripes][protocol][o].Add(1)
	}
}
