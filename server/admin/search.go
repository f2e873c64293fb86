package admin

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"

	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/engine"
)

// Bounds of a search for keys by prefix.
const (
	// maxFound is the greatest count of keys in a reply.
	maxFound = 100
	// maxSearched is the number of keys that a search visits before it returns, found or
	// not: some milliseconds of work. The client continues at the cursor.
	maxSearched = 50_000
	// maxSearches is the number of searches that run at once; further searches wait.
	maxSearches = 1
)

// search serves GET /api/keys: keys that start with a prefix, in no order. It requires the
// rights of SCAN. Cost: a page of keys is locked at a time.
func (a *api) search(w http.ResponseWriter, r *http.Request, id identity) {
	if err := a.cfg.Handler.May(id.account, "SCAN", "0"); err != nil {
		a.replyCommandError(w, err)
		return
	}
	query := r.URL.Query()
	prefix, err := decodeKey(query.Get("prefix"))
	if err == nil && len(prefix) > engine.MaxKeyBytes {
		err = resp.NewError("ERR",
			fmt.Sprintf("prefix must be at most %d bytes long, got %d", engine.MaxKeyBytes, len(prefix)))
	}
	if err != nil {
		a.replyCommandError(w, err)
		return
	}
	cursor, err := strconv.ParseUint(query.Get("cursor"), 10, 48)
	if err != nil {
		replyError(w, http.StatusBadRequest,
			"cursor must be 0 or the cursor of the last reply, got "+strconv.Quote(query.Get("cursor")))
		return
	}
	count, err := strconv.Atoi(query.Get("count"))
	if err != nil || count < 1 || count > maxFound {
		replyError(w, http.StatusBadRequest,
			fmt.Sprintf("count must be 1 to %d, got ", maxFound)+strconv.Quote(query.Get("count")))
		return
	}
	select {
	case a.searching <- struct{}{}:
		defer func() { <-a.searching }()
	case <-r.Context().Done():
		replyError(w, http.StatusServiceUnavailable, "other searches are running, try again")
		return
	}
	all, err := find(a.cfg.Handler, prefix, cursor, count)
	if err != nil {
		a.replyCommandError(w, err)
		return
	}
	reply(w, all)
}

// found is the reply to a search. Cursor is the start of the next search, "0" at the end of
// the keys; it is text because it counts up to 2^48.
type found struct {
	Keys     []foundKey `json:"keys"`
	Searched int        `json:"searched"`
	Cursor   string     `json:"cursor"`
}

type foundKey struct {
	Key       string `json:"key"`
	Raw       string `json:"raw"`
	Algorithm string `json:"algorithm"`
}

// find searches from a cursor on until it has count keys, or up to a page of keys more,
// or has examined maxSearched.
func find(h *session.Handler, prefix []byte, cursor uint64, count int) (all found, err error) {
	all.Keys = []foundKey{}
	now := h.Now()
	for {
		before := all.Searched
		cursor, err = h.Engine().Scan(now, 0, cursor, 1, func(key []byte, alg engine.Alg) {
			all.Searched++
			if bytes.HasPrefix(key, prefix) {
				all.Keys = append(all.Keys, foundKey{printable(key, 0), encodeKey(key), alg.String()})
			}
		})
		if err != nil {
			return all, err
		}
		all.Searched = max(all.Searched, before+1) // a page of expired keys is work too
		if cursor == 0 || len(all.Keys) >= count || all.Searched >= maxSearched {
			all.Cursor = strconv.FormatUint(cursor, 10)
			return all, nil
		}
	}
}
