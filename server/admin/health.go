package admin

import (
	"cmp"
	"fmt"
	"net/http"

	"limitsrv/commands/session"
)

// livez returns the handler of /livez. It blocks if the engine can't be locked.
func livez(h *session.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		h.Engine().Len()
		plain(w, http.StatusOK, "ok")
	}
}

// ready returns the handler of /readyz. With ?verbose it lists the conditions. A degraded server is
// ready.
func ready(h *session.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status, text := http.StatusOK, "ready"
		if why := h.NotReady(); why != "" {
			status, text = http.StatusServiceUnavailable, "not ready: "+why
		} else if why := h.Degraded(); why != "" {
			text = "ready, degraded: " + why
		}
		if r.URL.Query().Has("verbose") {
			for _, c := range h.Readiness() {
				text += fmt.Sprintf("\n%s: %s", c.Name, cmp.Or(c.Trouble, c.Degraded, "ok"))
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
