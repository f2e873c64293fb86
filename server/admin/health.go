package admin

import (
	"fmt"
	"limitsrv/commands/session"
	"net/http"
	"strings"
)

// A check is a condition of being ready. why returns "" if it passes, and otherwise the
// reason as a phrase.
type check struct {
	name string
	why  func(*session.Handler) string
}

// checks are all conditions under which a server may be sent requests.
var checks = []check{
	{"loaded", func(h *session.Handler) string {
		if !h.IsLoading() {
			return ""
		}
		return "the state is being loaded"
	}},
	{"serving", func(h *session.Handler) string {
		if !h.IsDraining() {
			return ""
		}
		return "the server is shutting down"
	}},
	{"quorum", func(h *session.Handler) string {
		switch r := h.Replication(); {
		case r.Role == "" || r.HasQuorum:
			return ""
		case r.Trouble != "":
			return r.Trouble
		}
		return "the cluster has no leader that decides"
	}},
	{"log", func(h *session.Handler) string {
		failed := h.StoreStatus().Failed
		if failed == nil {
			return ""
		}
		return "decisions can't be written to disk: " + oneLine(failed.Error())
	}},
}

// NotReady returns the reasons why the server is not ready, or "".
func NotReady(h *session.Handler) string {
	var all []string
	for _, c := range checks {
		if why := c.why(h); why != "" {
			all = append(all, why)
		}
	}
	return strings.Join(all, "; ")
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// live returns the handler of /livez. It blocks if the engine can't be locked.
func live(h *session.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		h.Engine().Len()
		plain(w, http.StatusOK, "ok")
	}
}

// ready returns the handler of /readyz. With ?verbose it lists the checks.
func ready(h *session.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status, text := http.StatusOK, "ready"
		if why := NotReady(h); why != "" {
			status, text = http.StatusServiceUnavailable, "not ready: "+why
		}
		if r.URL.Query().Has("verbose") {
			for _, c := range checks {
				verdict := "ok"
				if why := c.why(h); why != "" {
					verdict = why
				}
				text += fmt.Sprintf("\n%s: %s", c.name, verdict)
			}
		}
		plain(w, status, text)
	}
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}
