package commands

import (
	"time"

	"limitsrv/engine"
)

// What metrics and other watchers are told, as INFO tells it to clients. None of it
// costs more than some loads and locks that are held for moments.

// A CommandCount is what became of the calls of one command since the start, or
// since CONFIG RESETSTAT.
type CommandCount struct {
	Name     string
	Calls    int64 // carried out, be it with an error
	Failed   int64 // of these, answered with an error
	Rejected int64 // not carried out: arity, login, loading
}

// CommandCounts are those of all commands that were called.
func (h *Handler) CommandCounts() (all []CommandCount) {
	for _, c := range h.registry.allSpecs() {
		if t := h.stats.command(c.id); t.calls+t.rejected > 0 {
			all = append(all, CommandCount{c.name, t.calls, t.failed, t.rejected})
		}
	}
	return all
}

// ErrorCounts are the error replies by their code words since the start, or since
// CONFIG RESETSTAT.
func (h *Handler) ErrorCounts() map[string]int64 { return h.stats.codes.get() }

// Waits are how long ops on keys took to be answered, since the start: from when
// their batch was handed on to when its answers were there.
func (h *Handler) Waits() Waits {
	var w Waits
	for i := range h.stats.waits {
		w.counts.add(&h.stats.waits[i])
	}
	return w
}

// Waits are durations that were counted, each told at most an eighth too high.
type Waits struct{ counts distribution }

// Since are those that were counted after earlier was.
func (w Waits) Since(earlier Waits) Waits {
	for i := range w.counts {
		w.counts[i] -= earlier.counts[i]
	}
	return w
}

// Total is how many there are.
func (w *Waits) Total() int64 { return w.counts.total() }

// Sum is about how long all took together, at most a sixteenth off.
func (w *Waits) Sum() time.Duration {
	sum := 0.0
	for i, n := range w.counts {
		begin := int64(0)
		if i > 0 {
			begin = bucketEnd(i-1) + 1
		}
		sum += float64(n) * float64(begin+bucketEnd(i)) / 2
	}
	return time.Duration(sum)
}

// Within is how many took at most so long.
func (w *Waits) Within(d time.Duration) (n int64) {
	for i := 0; i < len(w.counts) && bucketEnd(i) <= int64(d); i++ {
		n += w.counts[i]
	}
	return n
}

// Percentile is what so many of a thousand did not exceed; 0 where there are none.
func (w *Waits) Percentile(perMille int64) time.Duration {
	return time.Duration(w.counts.percentile(perMille))
}

// Now is the time of decisions.
func (h *Handler) Now() engine.Instant { return h.now() }

// Standing is that of the Store.
func (h *Handler) Standing() Standing { return h.config.Store.Standing() }

// Replication is that of the Cluster.
func (h *Handler) Replication() Replication { return h.config.Cluster.Replication() }

// Nodes are those of the Cluster, this one first; none where it has no other nodes.
func (h *Handler) Nodes() []Node {
	if h.Replication().Role == "" {
		return nil
	}
	return h.config.Cluster.Nodes(h.listen())
}

// listen is the option of that name.
func (h *Handler) listen() string {
	address, _ := option(h.options(), "listen")
	return address
}

// Started is when the Handler was made.
func (h *Handler) Started() time.Time { return h.start }

// Version is that of the server.
func (h *Handler) Version() string { return h.config.Version }

// Setting is what CONFIG GET tells of an option; empty: there is none of this name.
func (h *Handler) Setting(name string) string { return h.setting(name) }

// IsLoading says that the state is being loaded.
func (h *Handler) IsLoading() bool { return h.loading() }

// IsDraining says that Drain was called: the server is about to end.
func (h *Handler) IsDraining() bool { return h.serving.Err() != nil }

// FailedLogins are the attempts to log in that were refused since the start.
func (h *Handler) FailedLogins() int64 { return h.logins.fails.total.Load() }
