package admin

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"limitsrv/commands"
	"limitsrv/commands/limiters"
	"limitsrv/engine"
	"limitsrv/engine/topk"
)

// Parameters of GET /api/top, as in RL.TOP.
var (
	topKinds   = map[string]engine.TopKind{"denied": engine.TopDenied, "hot": engine.TopHot}
	topWindows = map[string]topk.Window{"minute": topk.Minute, "hour": topk.Hour}
)

// top serves GET /api/top.
func (a *api) top(w http.ResponseWriter, r *http.Request, id identity) {
	query := r.URL.Query()
	kind, ok := topKinds[query.Get("by")]
	if !ok {
		replyError(w, http.StatusBadRequest, "by must be denied or hot, got "+strconv.Quote(query.Get("by")))
		return
	}
	window, ok := topWindows[query.Get("window")]
	if !ok {
		replyError(w, http.StatusBadRequest, "window must be minute or hour, got "+strconv.Quote(query.Get("window")))
		return
	}
	count, err := strconv.Atoi(query.Get("count"))
	if err != nil || count < 1 || count > commands.MaxTop {
		replyError(w, http.StatusBadRequest,
			fmt.Sprintf("count must be 1 to %d, got ", commands.MaxTop)+strconv.Quote(query.Get("count")))
		return
	}
	if err := a.mayListKeys(id); err != nil {
		a.replyCommandError(w, err)
		return
	}
	type row struct {
		Key   string `json:"key"`
		Raw   string `json:"raw"`
		DB    uint8  `json:"db"`
		Count int64  `json:"count"`
		Error int64  `json:"error"`
	}
	found := a.cfg.Handler.Top(kind, window, count)
	rows := make([]row, len(found.Rows))
	for i, one := range found.Rows {
		rows[i] = row{printable(one.Key, 0), encodeKey(one.Key), one.Tag, one.Count, one.Error}
	}
	reply(w, struct {
		Window int64 `json:"window_s"`
		Keys   []row `json:"keys"`
	}{int64(found.To-found.From) / int64(time.Second), rows})
}

// A keyState is the limit and the state of a key.
type keyState struct {
	Key       string  `json:"key"`
	Raw       string  `json:"raw"`
	Algorithm string  `json:"algorithm"`
	Limit     int64   `json:"limit"`
	Rate      *rate   `json:"rate"`
	Window    *int64  `json:"window_ns"` // of LEASE: time until a silent holder's lease ends
	Calendar  *string `json:"calendar"`
	Remaining int64   `json:"remaining"`
	Wait      int64   `json:"wait_ms"` // -1: never
	Reset     int64   `json:"reset_ms"`
	// Level is the level of a closed penalty box.
	Level int64 `json:"level,omitempty"`
	// Blocked is set for a key that RL.BLOCK blocks.
	Blocked bool `json:"blocked,omitempty"`
}

type rate struct {
	Count  int64 `json:"count"`
	Period int64 `json:"period_ns"`
}

// key serves GET /api/key.
func (a *api) key(w http.ResponseWriter, r *http.Request, id identity) {
	key, err := decodeKey(r.URL.Query().Get("raw"))
	if err != nil {
		a.replyCommandError(w, err)
		return
	}
	db := 0
	if given := r.URL.Query().Get("db"); given != "" {
		if db, err = strconv.Atoi(given); err != nil || db < 0 || db >= engine.Databases {
			replyError(w, http.StatusBadRequest, fmt.Sprintf("db must be 0 to %d, got %q", engine.Databases-1, given))
			return
		}
	}
	d, err := a.decideOne(r, id, uint8(db), "RL.PEEK", key)
	if err != nil {
		a.replyCommandError(w, err)
		return
	}
	var out struct {
		Found bool `json:"found"` // the only field if the key has no record or is fully reset
		*keyState
	}
	if out.Found = d.Status != engine.Missing; out.Found {
		out.keyState = keyStateOf(key, d)
	}
	reply(w, out)
}

func keyStateOf(key []byte, d engine.Decision) *keyState {
	p := &d.Params
	state := &keyState{
		Key: printable(key, 0), Raw: encodeKey(key), Algorithm: p.Alg.String(), Limit: p.Limit,
		Remaining: d.Remaining, Wait: d.Wait.CeilMillis(), Reset: d.Reset.CeilMillis(),
	}
	switch name, ok := limiters.CalendarName(p.Calendar); {
	case limiters.IsBlock(p): // it ends when the box is gone
		state.Blocked, state.Remaining, state.Wait = true, 0, state.Reset
	case p.Alg == engine.Box && d.Allowed == 0:
		state.Level = d.BoxLevel()
	case p.Alg == engine.Box:
	case ok:
		state.Calendar = &name
	case p.Count > 0:
		state.Rate = &rate{p.Count, p.Period}
	default:
		state.Window = &p.Period
	}
	return state
}
