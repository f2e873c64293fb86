package commands

import (
	"fmt"
	"time"
)

// Network counts connections and bytes of clients since the start of the server.
type Network struct {
	Rejected     int64 // closed because --max-clients was reached
	RejectedHTTP int64 // closed because the client sent HTTP
	InputBytes   int64
	OutputBytes  int64
}

// network returns the transport's counts since CONFIG RESETSTAT.
func (h *Handler) network() Network {
	n := h.networkTotals()
	if from := h.stats.networkBase.Load(); from != nil {
		n.Rejected -= from.Rejected
		n.RejectedHTTP -= from.RejectedHTTP
		n.InputBytes -= from.InputBytes
		n.OutputBytes -= from.OutputBytes
	}
	return n
}

// networkTotals returns the counts since the start, or zeros if none was configured.
func (h *Handler) networkTotals() Network {
	if h.config.Network == nil {
		return Network{}
	}
	return h.config.Network()
}

// resetStats is CONFIG RESETSTAT.
func (h *Handler) resetStats() {
	carried := h.networkTotals()
	h.stats.reset()
	h.stats.networkBase.Store(&carried)
}

func (h *Handler) infoNetwork(l *lines) {
	n, now := h.network(), time.Now()
	l.add("total_net_input_bytes", n.InputBytes)
	l.add("total_net_output_bytes", n.OutputBytes)
	l.add("instantaneous_input_kbps", kilobytes(h.stats.inputRate.sample(now, n.InputBytes)))
	l.add("instantaneous_output_kbps", kilobytes(h.stats.outputRate.sample(now, n.OutputBytes)))
	l.add("rejected_connections", n.Rejected)
	l.add("rejected_http_connections", n.RejectedHTTP)
}

// kilobytes writes bytes in the form of Redis' kilobytes per second.
func kilobytes(bytes int64) string { return fmt.Sprintf("%.2f", float64(bytes)/1024) }
