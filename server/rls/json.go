package rls

import (
	"net/http"

	"limitsrv/commands/session"
)

// json serves POST /json: a request and a response of Envoy's service in the JSON form of
// protobuf.
func (s *core) json(w http.ResponseWriter, r *http.Request) {
	account, ok := s.identify(w, r)
	if !ok {
		return
	}
	c := s.calls.Get().(*call)
	if c.message, ok = s.readBody(w, r, c.message); !ok {
		return
	}
	var err error
	c.form = c.writer.AppendJSON
	if c.request, err = c.reader.ReadJSON(c.message); err != nil {
		s.calls.Put(c)
		s.refuse(w, failureOf(err, s.log))
		return
	}
	s.shorten(c)
	if err := s.decide(r.Context(), c, session.Call{Account: account, From: r.RemoteAddr, Via: session.HTTP}); err != nil {
		replyFailure(w, failureOf(err, s.log))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(statusOf(c.allowed, http.StatusTooManyRequests))
	_, _ = w.Write(c.response)
	s.calls.Put(c)
}
