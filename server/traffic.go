package server

import "sync/atomic"

// Stats are counts since the start, but for Clients.
type Stats struct {
	Clients     int64 // connected now
	Connections int64 // accepted, with those rejected
	Rejected    int64 // because all places were taken
	// RejectedHTTP are connections closed because they spoke HTTP.
	RejectedHTTP int64
	// FailedHandshakes are connections that were to be TLS and became no clients.
	FailedHandshakes int64
	InputBytes       int64
	OutputBytes      int64
}

// A traffic counts the bytes of some of the connections. Each event loop has its
// own, in a cache line of its own, so that counting costs the loops nothing.
type traffic struct {
	in, out atomic.Int64
	_       [48]byte
}

// Stats costs a few loads for each loop.
func (s *Server) Stats() Stats {
	st := Stats{Clients: s.clients.Load(), Connections: s.connections.Load(), Rejected: s.rejected.Load(), RejectedHTTP: s.rejectedHTTP.Load()}
	if s.secure != nil {
		st.FailedHandshakes = s.secure.failed.Load()
	}
	for _, counters := range s.traffic {
		for i := range counters {
			st.InputBytes += counters[i].in.Load()
			st.OutputBytes += counters[i].out.Load()
		}
	}
	return st
}

// newTraffic makes the n counters of a transport.
func (s *Server) newTraffic(n int) []traffic {
	counters := make([]traffic, n)
	s.traffic = append(s.traffic, counters)
	return counters
}
