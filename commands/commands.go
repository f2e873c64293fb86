package commands

// table is every command there is. A new one is a file and a line here.
var table = []*Command{
	// limits
	&rlAcquire, &rlAll, &rlCharge, &rlFixed, &rlLeaky, &rlLog, &rlPeek, &rlRefund, &rlRelease, &rlReset, &rlSlide, &rlToken,

	// limiter commands of other systems
	&clThrottle, &gcra, &rlThrottle, &throttle,

	// connection
	&auth, &client, &echo, &hello, &ping, &quit, &reset, &selectDB,

	// server
	&command,

	// transactions
	&multi, &exec, &discard, &watch, &unwatch,

	// keys
	&del, &exists, &flushAll, &flushDB, &pttl, &touch, &ttl, &typeOf, &unlink,
}
