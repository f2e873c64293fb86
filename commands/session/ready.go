package session

import (
	"strings"

	"limitsrv/internal/status"
)

// A Condition is one condition of being ready. Trouble is empty if the condition holds; otherwise
// it is the reason, a phrase on one line.
type Condition struct{ Name, Trouble string }

// conditions must all hold before clients send requests to this server, and before an operator
// stops another node of its cluster.
var conditions = []struct {
	name string
	why  func(*Handler, *status.Replication) string
}{
	{"loaded", func(h *Handler, _ *status.Replication) string {
		if !h.IsLoading() {
			return ""
		}
		return "the state is being loaded"
	}},
	{"serving", func(h *Handler, _ *status.Replication) string {
		if !h.IsDraining() {
			return ""
		}
		return "the server is shutting down"
	}},
	{"quorum", func(_ *Handler, r *status.Replication) string {
		switch {
		case r.Role == "" || r.HasQuorum:
			return ""
		case r.Trouble != "":
			return r.Trouble
		}
		return "the cluster has no leader that decides"
	}},
	{"member", func(_ *Handler, r *status.Replication) string { return r.Pending }},
	{"log", func(h *Handler, _ *status.Replication) string {
		failed := h.StoreStatus().Failed
		if failed == nil {
			return ""
		}
		return "decisions can't be written to disk: " + failed.Error()
	}},
}

// Readiness returns the conditions of being ready.
//
// Concurrency: any goroutine may call it. Cost: a few locks.
func (h *Handler) Readiness() (all []Condition) {
	r := h.Replication()
	for _, c := range conditions {
		all = append(all, Condition{c.name, strings.Join(strings.Fields(c.why(h, &r)), " ")})
	}
	return all
}

// NotReady returns the reasons why the server is not ready, or "".
func (h *Handler) NotReady() string {
	var all []string
	for _, c := range h.Readiness() {
		if c.Trouble != "" {
			all = append(all, c.Trouble)
		}
	}
	return strings.Join(all, "; ")
}
