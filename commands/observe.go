package commands

import (
	"time"

	"limitsrv/engine"
	"limitsrv/histogram"
	"limitsrv/status"
)

// Values of INFO for the metrics and the admin page. Cost of each: a few loads and short
// locks.

// A CommandCount holds the calls of one command since the start, or since CONFIG
// RESETSTAT.
type CommandCount struct {
	Name     string
	Calls    int64 // executed, with or without an error
	Failed   int64 // of Calls: answered with an error
	Rejected int64 // not executed: arity, login, loading
}

// CommandCounts returns the counts of all commands that were called.
func (h *Handler) CommandCounts() (all []CommandCount) {
	for _, c := range h.registry.allSpecs() {
		if t := h.stats.command(c.id); t.calls+t.rejected > 0 {
			all = append(all, CommandCount{c.name, t.calls, t.failed, t.rejected})
		}
	}
	return all
}

// ErrorCounts returns the error replies by code word since the start, or since CONFIG
// RESETSTAT.
func (h *Handler) ErrorCounts() map[string]int64 { return h.stats.codes.Get() }

// Waits returns the latencies of ops since the start, each from the hand-over of its
// batch to the Exec until its decisions are there.
func (h *Handler) Waits() histogram.Distribution {
	var w histogram.Distribution
	for i := range h.stats.waits {
		w.Add(&h.stats.waits[i])
	}
	return w
}

// Now returns the time of decisions.
func (h *Handler) Now() engine.Instant { return h.now() }

// StoreStatus returns the status of the Store.
func (h *Handler) StoreStatus() status.Store { return h.config.Store.Status() }

// Replication returns the replication state of the Cluster.
func (h *Handler) Replication() status.Replication { return h.config.Cluster.Replication() }

// Nodes returns the nodes of the Cluster, this one first; none if there are no other
// nodes.
func (h *Handler) Nodes() []status.Node {
	if h.Replication().Role == "" {
		return nil
	}
	return h.config.Cluster.Nodes(h.listen())
}

// listen returns the option listen.
func (h *Handler) listen() string {
	address, _ := option(h.options(), "listen")
	return address
}

// Started returns the time at which the Handler was made.
func (h *Handler) Started() time.Time { return h.start }

// Version returns the version of the server.
func (h *Handler) Version() string { return h.config.Version }

// Setting returns a value of CONFIG GET; empty if there is no such setting.
func (h *Handler) Setting(name string) string { return h.setting(name) }

// IsLoading reports that the state is loading.
func (h *Handler) IsLoading() bool { return h.loading() }

// IsDraining reports that Drain was called: the server shuts down.
func (h *Handler) IsDraining() bool { return h.serving.Err() != nil }

// FailedLogins returns the number of failed logins since the start, including those
// rejected without a check.
func (h *Handler) FailedLogins() int64 { return h.logins.Failed() }
