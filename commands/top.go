package commands

import (
	"limitsrv/commands/limiters"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
	"limitsrv/engine/topk"
)

const (
	// defaultTop and MaxTop are the default and the maximum of the count.
	defaultTop = 10
	MaxTop     = 100
)

var rlTop = spec.Command{
	Name: "RL.TOP", Args: "[DENIED|HOT] [count] [MINUTE|HOUR]",
	Summary: "Returns the keys with the most denied requests (DENIED), or with the most requests (HOT), in the last 60 " +
		"to 70 seconds or, with HOUR, 60 to 65 minutes. " +
		"The reply has [key, count, error] for each of count keys, 10 by default, at most 100. A key in another database " +
		"than 0 has the number of its database as well. The true number is between count - error and count. " +
		"In a cluster, each node reports the decisions it has applied.",
	Complexity: "O(1)", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.ReadOnly | spec.Stale | spec.AllKeys, Front: spec.FrontAsks,
	Body: session.Run(func(s *session.Session, w *resp.Writer, args [][]byte) {
		what, window, count, err := parseTop(args[1:])
		if err != nil {
			w.Error(err)
			return
		}
		top := s.Handler().Top(what, window, count)
		w.Array(len(top.Rows))
		for _, row := range top.Rows {
			fields := 3
			if row.Tag != 0 {
				fields = 4
			}
			w.Array(fields)
			w.Bulk(row.Key)
			w.Int(row.Count)
			w.Int(row.Error)
			if row.Tag != 0 {
				w.Int(int64(row.Tag))
			}
		}
	}),
}

// parseTop parses the arguments of RL.TOP; each may be left out.
func parseTop(args [][]byte) (what engine.TopKind, window topk.Window, count int, err error) {
	count = defaultTop
	if len(args) > 0 && (word.Is(args[0], "DENIED") || word.Is(args[0], "HOT")) {
		if word.Is(args[0], "HOT") {
			what = engine.TopHot
		}
		args = args[1:]
	}
	if len(args) > 0 && !limiters.IsOption(args[0]) {
		n, ok := limiters.ParseWhole(args[0])
		if !ok || n < 1 || n > MaxTop {
			return what, window, 0, limiters.BadWhole("count", 1, MaxTop, args[0])
		}
		count, args = int(n), args[1:]
	}
	if len(args) > 0 && (word.Is(args[0], "MINUTE") || word.Is(args[0], "HOUR")) {
		if word.Is(args[0], "HOUR") {
			window = topk.Hour
		}
		args = args[1:]
	}
	if len(args) > 0 {
		return what, window, 0, resp.NewError("ERR", "syntax error, the arguments are DENIED or HOT, then count, then "+
			"MINUTE or HOUR, each optional, got "+word.Excerpt(args[0]))
	}
	return what, window, count, nil
}

var rlStats = spec.Command{
	Name: "RL.STATS",
	Summary: "Returns the decisions since the start as a map. decisions has the number of allowed and denied requests " +
		"for each algorithm " +
		"with requests, where requests allowed only by SHADOW count as denied. shadow_denied is the number of these " +
		"requests, " +
		"refused_for_memory counts requests rejected for lack of memory, evicted counts live keys evicted for lack of " +
		"memory. requests has the requests of clients to this node, each once for any number of limits, by outcome: " +
		"allowed, denied, shadow_denied, error, no_quorum_allowed and repeated. In a cluster, each node reports the " +
		"decisions it has applied.",
	Complexity: "O(1)", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.ReadOnly | spec.Stale, Front: spec.FrontCounts,
	Body: session.Run(func(s *session.Session, w *resp.Writer, _ [][]byte) {
		t := s.Handler().Engine().Stats()
		var decided []engine.Alg
		for i := range t.Allowed {
			if t.Allowed[i]+t.Denied[i] > 0 {
				decided = append(decided, engine.Alg(i))
			}
		}
		w.Map(5)
		w.BulkString("decisions")
		w.Map(len(decided))
		for _, a := range decided {
			w.BulkString(a.String())
			w.Map(2)
			writeStat(w, "allowed", t.Allowed[a])
			writeStat(w, "denied", t.Denied[a])
		}
		writeStat(w, "shadow_denied", t.ShadowDenied)
		writeStat(w, "refused_for_memory", t.Refused)
		writeStat(w, "evicted", t.Evicted)
		w.BulkString("requests")
		requests := s.Handler().Requests()
		w.Map(len(requests))
		for o, n := range requests {
			writeStat(w, session.Outcome(o).String(), n)
		}
	}),
}

// writeStat writes a pair of a map.
func writeStat(w *resp.Writer, name string, value int64) {
	w.BulkString(name)
	w.Int(value)
}
