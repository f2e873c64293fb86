package session

import (
	"strings"

	"limitsrv/internal/status"
)

// A Condition is a condition of being ready. Trouble and Degraded are empty if the condition
// holds. Otherwise one of them is the reason, a phrase on a line: Degraded if decisions go on.
type Condition struct{ Name, Trouble, Degraded string }

// conditions must all hold before clients send requests to this server, and before an operator
// stops another node of its cluster.
var conditions = []struct {
	name string
	why  func(*Handler, *status.Replication) string
	// goesOn, unless nil, reports whether decisions go on without the condition.
	goesOn func(*Handler, *status.Replication) bool
}{
	{name: "loaded", why: func(h *Handler, _ *status.Replication) string {
		if !h.IsLoading() {
			return ""
		}
		return "the state is being loaded"
	}},
	{name: "serving", why: func(h *Handler, _ *status.Replication) string {
		if !h.IsDraining() {
			return ""
		}
		return "the server is shutting down"
	}},
	{name: "quorum", why: func(_ *Handler, r *status.Replication) string {
		switch {
		case r.Role == "" || r.HasQuorum:
			return ""
		case r.Trouble != "":
			return r.Trouble
		}
		return "the cluster has no leader that decides"
	}},
	{name: "member", why: func(_ *Handler, r *status.Replication) string { return r.Pending }},
	{name: "log", why: func(h *Handler, _ *status.Replication) string {
		failed := h.StoreStatus().Failed
		if failed == nil {
			return ""
		}
		return "decisions can't be written to disk: " + failed.Error()
	}, goesOn: func(h *Handler, r *status.Replication) bool {
		fsync := h.StoreStatus().Fsync
		return r.Role == "" && (fsync == "everysec" || fsync == "no")
	}},
}

// Readiness returns the conditions of being ready.
//
// Concurrency: any goroutine may call it. Cost: a few locks.
func (h *Handler) Readiness() (all []Condition) {
	r := h.Replication()
	for _, c := range conditions {
		why := strings.Join(strings.Fields(c.why(h, &r)), " ")
		if c.goesOn != nil && c.goesOn(h, &r) {
			all = append(all, Condition{Name: c.name, Degraded: why})
		} else {
			all = append(all, Condition{Name: c.name, Trouble: why})
		}
	}
	return all
}

// NotReady returns the reasons why the server is not ready, or "".
func (h *Handler) NotReady() string {
	return reasons(h, func(c Condition) string { return c.Trouble })
}

// Degraded returns the conditions that fail while decisions go on, or "".
func (h *Handler) Degraded() string {
	return reasons(h, func(c Condition) string { return c.Degraded })
}

// reasons joins the reasons of the conditions.
func reasons(h *Handler, of func(Condition) string) string {
	var all []string
	for _, c := range h.Readiness() {
		if why := of(c); why != "" {
			all = append(all, why)
		}
	}
	return strings.Join(all, "; ")
}
