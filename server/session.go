package server

// A Session executes the commands of a connection: bytes in, bytes out. *session.Session
// implements it; its doc comments apply here too. Concurrency: one goroutine at a time,
// except Listening.
type Session interface {
	// Do accepts a command. It returns false, without accepting it, while a batch is in
	// flight.
	Do(args [][]byte) bool
	// Flush executes the accepted commands. It returns false if the batch is in flight.
	// The arguments of all commands since the last Flush that returned true must stay
	// unchanged.
	Flush() bool
	// Resume appends the replies of a batch that has come back, and messages from other
	// clients. It returns false, with no effect, while the batch is in flight.
	Resume() bool
	// Listening reports whether the client waits for messages, and so is not idle
	// although it sends nothing. Concurrency: any goroutine.
	Listening() bool
	// Waits reports that a command waits for other clients, so that no further command is
	// accepted until Wake was called and Resume has appended its reply. No batch is in
	// flight meanwhile, and no argument is used.
	Waits() bool
	// Paused reports whether the session holds accepted commands until its output has been
	// written. The caller must write the output and then call Continue.
	Paused() bool
	// Continue executes held commands, see Paused. Like Flush, it returns false if a batch is in
	// flight.
	Continue() bool
	// Pending returns the number of ops accepted and not executed, or a greater number if
	// they should be executed before more are accepted.
	Pending() int
	// Spent returns the time in nanoseconds for which Do and Flush have executed commands so
	// far, except for batches in flight.
	Spent() int64
	// MayBeLong reports whether the work for a command is not bounded by its size.
	MayBeLong(args [][]byte) bool
	// ProtocolError appends the error and closes. The text has no code word; it begins
	// with "Protocol error: ".
	ProtocolError(text string)
	// Authenticated reports whether the limits of unauthenticated clients no longer
	// apply.
	Authenticated() bool
	// Closing reports whether the connection ends once the output is written.
	Closing() bool
	// Output is the buffer that collects the replies. The server lends it memory when it
	// is nil, writes it out, and takes the memory back.
	Output() *[]byte
	// Close releases the session. It is called once, at the end.
	Close()
}
