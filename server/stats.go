package server

// Stats are counts since the start, except Clients.
type Stats struct {
	Clients     int64 // connected now
	Connections int64 // accepted, including those rejected
	Rejected    int64 // beyond MaxClients
	// RejectedHTTP are connections closed because they spoke HTTP.
	RejectedHTTP int64
	// FailedHandshakes are TLS connections that ended before they became clients.
	FailedHandshakes int64
	InputBytes       int64
	OutputBytes      int64
}

// Stats returns the counts. Cost: a few loads for each loop.
func (s *Server) Stats() Stats {
	st := Stats{Clients: s.clients.Load(), Connections: s.connections.Load(), Rejected: s.rejected.Load(),
		RejectedHTTP: s.rejectedHTTP.Load()}
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
