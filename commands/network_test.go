package commands

import (
	"strconv"
	"testing"

	"limitsrv/commands/session"
)

// INFO shows the counts of the transport, and CONFIG RESETSTAT resets them.
func TestInfoNetwork(t *testing.T) {
	carried := session.Network{Rejected: 3, RejectedHTTP: 2, InputBytes: 1000, OutputBytes: 5000}
	h := newTestHandlerWith(session.Config{Network: func() session.Network { return carried }})
	s := h.NewSession(session.Client{})
	defer s.Close()
	for _, step := range []struct {
		name string
		do   func()
		want session.Network
	}{
		{"since the start", func() {}, carried},
		{"after CONFIG RESETSTAT", func() { ask(s, "CONFIG RESETSTAT") }, session.Network{}},
		{"since then", func() { carried.InputBytes += 20; carried.Rejected++ }, session.Network{Rejected: 1, InputBytes: 20}},
	} {
		step.do()
		got := fields(infoText(h, words("stats")))
		for name, want := range map[string]int64{
			"rejected_connections": step.want.Rejected, "rejected_http_connections": step.want.RejectedHTTP,
			"total_net_input_bytes": step.want.InputBytes, "total_net_output_bytes": step.want.OutputBytes,
		} {
			if got[name] != strconv.FormatInt(want, 10) {
				t.Errorf("%s: %s:%s, want %d", step.name, name, got[name], want)
			}
		}
		if got["instantaneous_input_kbps"] == "" || got["instantaneous_output_kbps"] == "" {
			t.Errorf("%s: the rates are missing", step.name)
		}
	}
}
