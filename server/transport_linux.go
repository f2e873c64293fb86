package server

func newTransport(s *Server) (transport, error) {
	if s.cfg.Loops < 0 {
		return newGoroutines(s), nil
	}
	return newLoops(s, s.cfg.Loops)
}
