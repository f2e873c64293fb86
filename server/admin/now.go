package admin

import (
	"net"
	"net/http"
	"strconv"
	"time"

	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/internal/status"
)

// A serverState is the reply to GET /api/now.
type serverState struct {
	Time        int64               `json:"time_ms"`
	Version     string              `json:"version"`
	Uptime      int64               `json:"uptime_s"`
	Ready       bool                `json:"ready"`
	NotReady    string              `json:"not_ready"`
	Degraded    string              `json:"degraded"`
	ClockError  int64               `json:"clock_error_ms"` // this clock minus the time of decisions; 0 in a cluster
	Decisions   map[string]outcomes `json:"decisions"`      // by algorithm
	Requests    []requestRow        `json:"requests"`
	Shadow      int64               `json:"shadow_denied"`
	Keys        int64               `json:"keys"`
	Memory      int64               `json:"memory_bytes"`
	MaxMemory   int64               `json:"max_memory_bytes"` // 0: no bound
	OnFull      string              `json:"on_full"`
	Connections int64               `json:"connections"`
	MaxClients  int64               `json:"max_clients"`
	Evicted     int64               `json:"evicted"`
	Refused     int64               `json:"refused_for_memory"`
	Port        string              `json:"port"`    // for clients; empty: unknown
	Storage     *storage            `json:"storage"` // null: the state is in memory only
	Cluster     *cluster            `json:"cluster"`
}

type outcomes struct {
	Allowed int64 `json:"allowed"`
	Denied  int64 `json:"denied"`
}

// A requestRow has the requests by one command or protocol. Allowed includes the shadow denials, and
// the requests allowed without a quorum.
type requestRow struct {
	Via    string `json:"via"`
	Failed int64  `json:"error"`
	ruleCount
}

func newRequests(h *session.Handler) []requestRow {
	rows := []requestRow{}
	for _, c := range h.RequestCounts() {
		allowed := c.N[session.WasAllowed] + c.N[session.WasShadowDenied] + c.N[session.WasNoQuorumAllowed]
		rows = append(rows, requestRow{c.Via, c.N[session.WasError],
			ruleCount{allowed, c.N[session.WasDenied], c.N[session.WasShadowDenied]}})
	}
	return rows
}

type cluster struct {
	Role      status.Role `json:"role"`
	Term      uint64      `json:"term"`
	HasQuorum bool        `json:"has_quorum"`
	Members   []member    `json:"members"`
}

// A member is a node of the cluster. Lag is in entries; -1: unknown, as for LastContact.
type member struct {
	ID          string `json:"id"`
	Client      string `json:"client"`
	Raft        string `json:"raft"`
	Leader      bool   `json:"leader"`
	Voter       bool   `json:"voter"`
	Online      bool   `json:"online"`
	Self        bool   `json:"self"`
	Lag         int64  `json:"lag"`
	LastContact int64  `json:"last_contact_ms"`
	Version     string `json:"version"`
	// ClockError is its clock minus the median of the members' clocks, as far as this node knows it.
	ClockError int64 `json:"clock_error_ms"`
}

// now serves GET /api/now.
func (a *api) now(w http.ResponseWriter, _ *http.Request, _ identity) {
	h, stats := a.cfg.Handler, a.cfg.Handler.Engine().Stats()
	why := h.NotReady()
	state := serverState{
		Time: time.Now().UnixMilli(), Version: h.Version(), Uptime: int64(time.Since(h.Started()).Seconds()),
		Ready: why == "", NotReady: why, Degraded: h.Degraded(),
		Decisions: make(map[string]outcomes, len(stats.Allowed)), Requests: newRequests(h), Shadow: stats.ShadowDenied,
		Keys: stats.Keys, Memory: stats.MemoryBytes, MaxMemory: intSetting(h, "max-memory"), OnFull: h.Option("on-full"),
		Connections: a.cfg.Traffic().Clients, MaxClients: intSetting(h, "max-clients"),
		Evicted: stats.Evicted, Refused: stats.Refused, Port: portOf(h.Option("listen")), Storage: newStorage(h),
	}
	for alg := range stats.Allowed {
		state.Decisions[engine.Alg(alg).String()] = outcomes{stats.Allowed[alg], stats.Denied[alg]}
	}
	if nodes := h.Nodes(); len(nodes) > 0 {
		state.Cluster = newCluster(h.Replication(), nodes)
	} else if h.Config().TestClock == nil {
		state.ClockError = (time.Now().UnixNano() - int64(h.Now())) / int64(time.Millisecond)
	}
	reply(w, state)
}

// portOf returns the port of HOST:PORT, or "" if the address has no port.
func portOf(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	return port
}

// newCluster describes the cluster of nodes; nodes[0] is this node.
func newCluster(r status.Replication, nodes []status.Node) *cluster {
	c := &cluster{r.Role, r.Term, r.HasQuorum, make([]member, len(nodes))}
	for i, n := range nodes {
		m := &c.Members[i]
		*m = member{
			ID: n.ID, Raft: n.Raft, Leader: n.Leader, Voter: n.Voter, Online: n.Online, Self: i == 0, Version: n.Version,
			Lag: r.Behind(n), LastContact: -1, ClockError: n.ClockOffset.Milliseconds(),
		}
		if n.Port > 0 {
			m.Client = net.JoinHostPort(n.Host, strconv.Itoa(n.Port))
		}
		if n.LastContact >= 0 {
			m.LastContact = n.LastContact.Milliseconds()
		}
	}
	return c
}
