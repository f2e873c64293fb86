package rls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"limitsrv/commands/auth"
	"limitsrv/commands/session"
	"limitsrv/server/rls/envoy"
)

// identify authenticates a request by HTTP Basic. On failure it replies and returns false.
func (s *core) identify(w http.ResponseWriter, r *http.Request) (account *auth.Account, ok bool) {
	account, err := s.access.Account(context.WithoutCancel(r.Context()), r.RemoteAddr, r)
	if err != nil {
		s.refuse(w, loginFailureOf(err))
		return nil, false
	}
	return account, true
}

// readBody reads the body of a request. On failure it replies and returns false.
func (s *core) readBody(w http.ResponseWriter, r *http.Request, dst []byte) (body []byte, ok bool) {
	limited := http.MaxBytesReader(w, r.Body, envoy.MaxMessageBytes)
	body, err := appendAll(dst[:0], limited)
	switch tooLong := new(http.MaxBytesError); {
	case errors.As(err, &tooLong):
		s.refuse(w, failure{status: http.StatusRequestEntityTooLarge,
			text: fmt.Sprintf("the body must be at most %d bytes, got more", tooLong.Limit)})
		return nil, false
	case err != nil:
		s.refuse(w, failure{status: http.StatusBadRequest, text: "the body could not be read"})
		return nil, false
	}
	return body, true
}

func appendAll(dst []byte, r io.Reader) ([]byte, error) {
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// statusOf returns 200, or the status of a denial.
func statusOf(allowed bool, denied int) int {
	if allowed {
		return http.StatusOK
	}
	return denied
}

// refuse replies that a request has no answer, and counts it. Requires: it was not decided.
func (s *core) refuse(w http.ResponseWriter, f failure) {
	s.cfg.Decider.CountFailure(session.HTTP)
	replyFailure(w, f)
}

// replyFailure replies that a request has no answer.
func replyFailure(w http.ResponseWriter, f failure) {
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="limitsrv", charset="UTF-8"`)
	}
	replyText(w, f.status, f.text)
}

// replyText replies with an error.
func replyText(w http.ResponseWriter, status int, text string) {
	replyJSON(w, status, "application/json", map[string]string{"error": text})
}

// replyJSON replies with a value as JSON.
func replyJSON(w http.ResponseWriter, status int, kind string, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic("rls: encode a reply as JSON: " + err.Error())
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
