package commands

// table is every command there is. A new one is a file and a line here.
var table = []*Command{
	// connection
	&auth, &client, &echo, &hello, &ping, &quit, &reset, &selectDB,

	// server
	&command,

	// transactions
	&multi, &exec, &discard, &watch, &unwatch,

	// keys
	&del, &exists, &flushAll, &flushDB, &pttl, &touch, &ttl, &typeOf, &unlink,
}
