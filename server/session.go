package server

// A Session is what a connection needs of the commands: bytes in, bytes out. One
// goroutine at a time uses it. *commands.Session is one; its doc comments hold
// here too.
type Session interface {
	// Do takes a command. False: it was not taken, since a batch is away.
	Do(args [][]byte) bool
	// Flush executes what was taken. False: the batch is away. The arguments of all
	// that Do took stay untouched until Flush has answered true.
	Flush() bool
	// Resume appends the replies of a batch that was away and has come back, and what
	// others have sent. False: the batch is still away, and nothing was done.
	Resume() bool
	// Listening says that the client waits for what others send and is not idle though
	// it sends nothing. Any goroutine may ask.
	Listening() bool
	// Pending is how many ops were taken and not executed.
	Pending() int
	// ProtocolError appends the error and closes. The text has no code word; it
	// begins with "Protocol error: ".
	ProtocolError(text string)
	// Authenticated says whether the limits for strangers are off.
	Authenticated() bool
	// Closing says that the connection ends once the output is written.
	Closing() bool
	// Output is where the replies are gathered. The server lends it memory when it
	// is nil, writes it out, and takes the memory back.
	Output() *[]byte
	// Close forgets the session. It is called once, at the end.
	Close()
}
