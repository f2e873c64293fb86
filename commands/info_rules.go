package commands

import (
	"encoding/hex"

	"limitsrv/commands/session"
	"limitsrv/internal/status"
)

// infoRules writes the rules in use on this node. rules_ok is the result of
// session.Handler.RulesOK.
func infoRules(h *session.Handler, l *lines) {
	s := h.Config().Rules.Current()
	failed, file := h.RulesFailed()
	sha, at := "", int64(0)
	if s.Header.Version > 0 {
		sha, at = hex.EncodeToString(s.Header.SHA[:]), s.Header.Loaded.Millis()/1000
	}
	l.add("rules_version", s.Header.Version)
	l.add("rules_sha256", sha)
	l.add("rules_loaded_time", at)
	l.add("rules_loaded_by", s.Header.User)
	l.add("rules_domains", len(s.Set.Domains()))
	l.add("rules", s.Set.NumRules())
	l.add("rules_limits", s.Set.NumLimits())
	l.add("rules_overrides", s.Overrides.Len())
	l.add("rules_shadow", oneIf(s.Shadow))
	l.add("rules_unmatched", s.AllUnmatched())
	l.add("rules_penalties", s.Penalties())
	l.add("rules_bad_addresses", s.BadAddresses())
	l.add("rules_ok", oneIf(h.RulesOK()))
	l.add("rules_load_errors", failed)
	l.add("rules_file_error", file)
	l.add("rules_file_differs", oneIf(h.RulesFileDiffers()))
}

// infoEvents writes the state of the events at thresholds.
func infoEvents(h *session.Handler, l *lines) {
	e := h.Events()
	l.add("events_enabled", oneIf(e.On))
	for _, c := range e.Listed {
		l.add("events_"+c.Label, c.N)
	}
	l.add("events_waiting", e.Waiting)
	l.add("events_sent", e.Sent)
	l.add("events_failed_deliveries", e.Failed)
	for reason, n := range e.Dropped {
		l.add("events_dropped_"+status.EventDropWords[reason], n)
	}
	l.add("events_error", e.Failing)
}
