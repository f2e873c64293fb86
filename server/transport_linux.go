package server

func newTransport(e *env) (carrier, error) {
	if e.cfg.Loops < 0 {
		return newGoroutines(e), nil
	}
	return newLoops(e, e.cfg.Loops)
}
