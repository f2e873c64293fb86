package admin

import (
	"cmp"
	"encoding/hex"
	"net/http"
	"slices"

	"limitsrv/commands"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/live"
)

// Bounds of the rows in a reply about rules.
const (
	maxRuleRows     = 200
	maxOverrideRows = 100
	maxBoxRows      = 100
)

// A rulesState is the reply to GET /api/rules. Lists that the user may not see are null.
type rulesState struct {
	Version   uint64        `json:"version"` // 0: no rules were loaded
	SHA       string        `json:"sha"`
	Loaded    int64         `json:"loaded_ms"`
	User      string        `json:"user"`
	Note      string        `json:"note"`
	Domains   int           `json:"domains"`
	Rules     int           `json:"rules"`
	Limits    int           `json:"limits"`
	Shadow    bool          `json:"shadow"`     // --rules-shadow
	Unusable  bool          `json:"unusable"`   // this version of limitsrv can't compile them
	FileError string        `json:"file_error"` // of the last reading of --rules
	Differs   bool          `json:"file_differs"`
	Failed    int64         `json:"load_errors"`
	Penalties int64         `json:"penalties"`
	Unmatched int64         `json:"unmatched"`
	Rows      []ruleRow     `json:"rows"`      // of at most Limits, those that denied most first
	Overrides []overrideRow `json:"overrides"` // at most OverrideCount, in the order of their ends
	Boxes     []boxRow      `json:"boxes"`     // at most BoxCount, those that end last first

	OverrideCount int `json:"override_count"`
	BoxCount      int `json:"box_count"`

	EventsError   string `json:"events_error"` // of the last delivery of events at thresholds
	EventsWaiting int64  `json:"events_waiting"`
}

// A ruleRow is a limit with the requests of the last hour.
type ruleRow struct {
	Domain string `json:"domain"`
	Name   string `json:"name"`
	Tier   string `json:"tier"`
	Limit  string `json:"limit"`
	Mode   string `json:"mode"`
	ruleCount
}

// An overrideRow is an override. Raw values are base64url, because clients choose them.
type overrideRow struct {
	Domain string         `json:"domain"`
	Path   []rawAttribute `json:"path"`
	Effect string         `json:"effect"`
	Limit  string         `json:"limit"`
	Rule   string         `json:"rule"`
	Left   int64          `json:"left_ms"` // -1: for ever
	Note   string         `json:"note"`
	User   string         `json:"user"`
}

type rawAttribute struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// A boxRow is a penalty box that is closed, or a blocked key.
type boxRow struct {
	Raw   string `json:"raw"`
	DB    uint8  `json:"db"`
	Level int64  `json:"level"`
	Left  int64  `json:"left_ms"` // until the block ends
}

// rules serves GET /api/rules. It requires the rights of RL.RULES LIST.
func (a *api) rules(w http.ResponseWriter, r *http.Request, id identity) {
	h := a.cfg.Handler
	if err := h.May(id.account, "RL.RULES", "LIST"); err != nil {
		a.replyCommandError(w, err)
		return
	}
	s, events := h.Config().Rules.Current(), h.Events()
	failed, fileError := h.RulesFailed()
	state := rulesState{
		Version: s.Header.Version, Loaded: s.Header.Loaded.Millis(), User: s.Header.User, Note: s.Header.Note,
		Domains: len(s.Set.Domains()), Rules: s.Set.NumRules(), Limits: s.Set.NumLimits(),
		Shadow: s.Shadow, Unusable: s.Err != nil, FileError: fileError, Differs: h.RulesFileDiffers(), Failed: failed,
		EventsError: events.Failing, EventsWaiting: events.Waiting,
		Penalties: s.Penalties(), Unmatched: s.AllUnmatched(),
		Rows: a.ruleHours.rows(s), OverrideCount: s.Overrides.Len(),
	}
	if s.Header.Version > 0 {
		state.SHA = hex.EncodeToString(s.Header.SHA[:])
	}
	state.Overrides = a.overrideRows(id, s)
	if a.mayListKeys(id) == nil {
		boxes := h.Engine().ClosedBoxes(h.Now())
		state.Boxes, state.BoxCount = make([]boxRow, min(len(boxes), maxBoxRows)), len(boxes)
		for i := range state.Boxes {
			b := &boxes[i]
			state.Boxes[i] = boxRow{encodeKey(b.Key), b.DB, b.Level, commands.BlockedMillis(b)}
		}
	}
	reply(w, state)
}

// rows returns the limits that denied most in the last hour, and after them those that
// allowed most, in the order of the text if they are equal. Cost: linear in the limits.
func (r *ruleHours) rows(s *live.State) []ruleRow {
	type row struct {
		limit *rules.Limit
		count ruleCount
	}
	all := make([]row, 0, s.Set.NumLimits())
	r.mu.Lock()
	for l := range s.Set.Limits("", 0) {
		all = append(all, row{l, r.lastHour(l, ruleCountOf(s.Counts(l.Index)))})
	}
	r.mu.Unlock()
	slices.SortStableFunc(all, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.count.Denied+b.count.Shadow, a.count.Denied+a.count.Shadow),
			cmp.Compare(b.count.Allowed, a.count.Allowed))
	})
	rows := make([]ruleRow, min(len(all), maxRuleRows))
	for i := range rows {
		l := all[i].limit
		rows[i] = ruleRow{printed(l.Rule.Domain.Name), printed(l.Name), printed(l.Tier), l.String(), s.Mode(l.Mode).String(),
			all[i].count}
	}
	return rows
}

// overrideRows returns the overrides of the domains that the user may list. It returns nil if
// there are overrides, but the user may not list any.
func (a *api) overrideRows(id identity, s *live.State) []overrideRow {
	may := map[string]bool{}
	rows := []overrideRow{}
	for v := range s.Documents.ListOverrides(a.cfg.Handler.Now()) {
		allowed, known := may[v.Domain]
		if !known {
			allowed = a.cfg.Handler.May(id.account, "RL.OVERRIDE", "LIST", v.Domain) == nil
			may[v.Domain] = allowed
		}
		switch {
		case len(rows) == maxOverrideRows:
			return rows
		case !allowed:
			continue
		}
		row := overrideRow{printed(v.Domain), []rawAttribute{}, v.Effect.String(), v.Limit, printed(v.Rule), -1,
			printed(v.Note), v.User}
		for _, at := range v.Path {
			row.Path = append(row.Path, rawAttribute{encodeKey([]byte(at.Key)), encodeKey([]byte(at.Value))})
		}
		if v.Until != 0 {
			row.Left = (int64(v.Until-a.cfg.Handler.Now()) + 999_999) / 1e6
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 && len(may) > 0 {
		return nil
	}
	return rows
}
