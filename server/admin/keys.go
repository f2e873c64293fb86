package admin

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"limitsrv/commands"
	"limitsrv/engine"
)

// The words for what RL.TOP tells.
var (
	topKinds   = map[string]engine.TopKind{"denied": engine.TopDenied, "hot": engine.TopHot}
	topWindows = map[string]engine.TopWindow{"minute": engine.TopMinute, "hour": engine.TopHour}
)

// top answers GET /api/top.
func (s *Server) top(w http.ResponseWriter, r *http.Request, asks who) {
	query := r.URL.Query()
	kind, ok := topKinds[query.Get("by")]
	if !ok {
		fail(w, http.StatusBadRequest, "by must be denied or hot, got "+strconv.Quote(query.Get("by")))
		return
	}
	window, ok := topWindows[query.Get("window")]
	if !ok {
		fail(w, http.StatusBadRequest, "window must be minute or hour, got "+strconv.Quote(query.Get("window")))
		return
	}
	count, err := strconv.Atoi(query.Get("count"))
	if err != nil || count < 1 || count > commands.MaxTop {
		fail(w, http.StatusBadRequest, fmt.Sprintf("count must be 1 to %d, got ", commands.MaxTop)+strconv.Quote(query.Get("count")))
		return
	}
	if err := s.maySeeAll(asks); err != nil {
		s.failed(w, err)
		return
	}
	type row struct {
		Key   string `json:"key"`
		Raw   string `json:"raw"`
		Count int64  `json:"count"`
		Error int64  `json:"error"`
	}
	found := s.cfg.Handler.Engine().Top(s.cfg.Handler.Now(), kind, window, count)
	rows := make([]row, len(found.Rows))
	for i, one := range found.Rows {
		rows[i] = row{shown(one.Key, 0), raw(one.Key), one.Count, one.Error}
	}
	answer(w, struct {
		Window int64 `json:"window_s"`
		Keys   []row `json:"keys"`
	}{int64(found.To-found.From) / int64(time.Second), rows})
}

// maySeeAll is why somebody may not be shown keys without naming them; nil: they may.
func (s *Server) maySeeAll(asks who) error { return s.cfg.Handler.May(asks.account, "RL.TOP") }

// A standing is how a key stands.
type standing struct {
	Key       string  `json:"key"`
	Raw       string  `json:"raw"`
	Algorithm string  `json:"algorithm"`
	Limit     int64   `json:"limit"`
	Rate      *rate   `json:"rate"`
	Window    *int64  `json:"window_ns"` // of LEASE: how long a holder may be silent
	Calendar  *string `json:"calendar"`
	Remaining int64   `json:"remaining"`
	Wait      int64   `json:"wait_ms"` // -1: never
	Reset     int64   `json:"reset_ms"`
}

type rate struct {
	Count  int64 `json:"count"`
	Period int64 `json:"period_ns"`
}

// key answers GET /api/key.
func (s *Server) key(w http.ResponseWriter, r *http.Request, asks who) {
	key, err := rawKey(r.URL.Query().Get("raw"))
	if err != nil {
		s.failed(w, err)
		return
	}
	d, err := s.decide(r, asks, "RL.PEEK", key)
	if err != nil {
		s.failed(w, err)
		return
	}
	var is struct {
		Found bool `json:"found"` // alone where there is no such key, or it is as good as new
		*standing
	}
	if is.Found = d.Status != engine.Missing; is.Found {
		is.standing = standingOf(key, d)
	}
	answer(w, is)
}

func standingOf(key []byte, d engine.Decision) *standing {
	p := &d.Params
	is := &standing{
		Key: shown(key, 0), Raw: raw(key), Algorithm: p.Alg.String(), Limit: p.Limit,
		Remaining: d.Remaining, Wait: d.Wait.CeilMillis(), Reset: d.Reset.CeilMillis(),
	}
	switch name, ok := commands.CalendarName(p.Calendar); {
	case ok:
		is.Calendar = &name
	case p.Count > 0:
		is.Rate = &rate{p.Count, p.Period}
	default:
		is.Window = &p.Period
	}
	return is
}

// reset answers POST /api/reset.
func (s *Server) reset(w http.ResponseWriter, r *http.Request, asks who) {
	var given struct{ Raw string }
	if !asked(w, r, &given) {
		return
	}
	key, err := rawKey(given.Raw)
	if err != nil {
		s.failed(w, err)
		return
	}
	d, err := s.decide(r, asks, "RL.RESET", key)
	if err != nil {
		s.failed(w, err)
		return
	}
	s.log.Info("a key was reset on the admin listener", "user", asks.account.Name(), "from", asks.from)
	answer(w, map[string]int64{"forgotten": d.Allowed})
}

// decide carries out a command about one key, as who asks.
func (s *Server) decide(r *http.Request, asks who, name string, key []byte) (engine.Decision, error) {
	ds, err := s.cfg.Handler.Decide(r.Context(), commands.Call{
		Account: asks.account, From: asks.from, Args: [][]byte{[]byte(name), key}, Commit: s.cfg.Commit,
	})
	if err != nil {
		return engine.Decision{}, err
	}
	return ds[0], nil
}
