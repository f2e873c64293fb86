package admin

import (
	"fmt"
	"net/http"

	"limitsrv/commands/limiters"
	"limitsrv/commands/session"
	"limitsrv/engine"
)

// A target is the key of a request that changes it.
type target struct {
	Raw string `json:"raw"`
	DB  uint8  `json:"db"`
}

// key returns the bytes of the key. If the target is invalid, it writes the error and returns false.
func (t *target) key(a *api, w http.ResponseWriter) (key []byte, ok bool) {
	if t.DB >= engine.Databases {
		replyError(w, http.StatusBadRequest, fmt.Sprintf("db must be 0 to %d, got %d", engine.Databases-1, t.DB))
		return nil, false
	}
	key, err := decodeKey(t.Raw)
	if err != nil {
		a.replyCommandError(w, err)
	}
	return key, err == nil
}

// reset serves POST /api/reset.
func (a *api) reset(w http.ResponseWriter, r *http.Request, id identity) {
	var given target
	if !decodeBody(w, r, &given) {
		return
	}
	key, ok := given.key(a, w)
	if !ok {
		return
	}
	d, err := a.decideOne(r, id, given.DB, "RL.RESET", key)
	if err != nil {
		a.replyCommandError(w, err)
		return
	}
	a.log.Info("key reset by an admin request", "user", id.account.Name(), "from", id.from)
	reply(w, map[string]int64{"forgotten": d.Allowed})
}

// block serves POST /api/block: RL.BLOCK.
func (a *api) block(w http.ResponseWriter, r *http.Request, id identity) {
	var given struct {
		target
		Duration string `json:"duration"`
	}
	if !decodeBody(w, r, &given) {
		return
	}
	key, ok := given.key(a, w)
	if !ok {
		return
	}
	ds, err := a.decide(r, id, given.DB, "RL.BLOCK", key, []byte(given.Duration))
	if err == nil {
		err = limiters.BlockFailed(ds)
	}
	if err != nil {
		a.replyCommandError(w, err)
		return
	}
	a.log.Info("key blocked by an admin request", "user", id.account.Name(), "from", id.from, "duration", given.Duration)
	w.WriteHeader(http.StatusNoContent)
}

// resetRules serves POST /api/rules/reset: RL.RULES RESET.
func (a *api) resetRules(w http.ResponseWriter, r *http.Request, id identity) {
	var given struct {
		Domain     string   `json:"domain"`
		Attributes []string `json:"attributes"`
	}
	if !decodeBody(w, r, &given) {
		return
	}
	q, err := parseAttributes(given.Domain, given.Attributes)
	var n int64
	if err == nil {
		n, err = a.cfg.Handler.ResetRules(r.Context(), session.Call{Account: id.account, From: id.from}, q)
	}
	if err != nil {
		a.replyCommandError(w, err)
		return
	}
	reply(w, map[string]int64{"forgotten": n})
}

// decide executes a command about a key of a database with the rights of the user.
func (a *api) decide(r *http.Request, id identity, db uint8, name string,
	args ...[]byte) ([]engine.Decision, error) {
	return a.cfg.Handler.Decide(r.Context(), session.Call{
		Account: id.account, From: id.from, DB: db, Args: append([][]byte{[]byte(name)}, args...),
	})
}

// decideOne is decide for a command with one decision.
func (a *api) decideOne(r *http.Request, id identity, db uint8, name string, key []byte) (engine.Decision, error) {
	ds, err := a.decide(r, id, db, name, key)
	if err != nil {
		return engine.Decision{}, err
	}
	return ds[0], nil
}
