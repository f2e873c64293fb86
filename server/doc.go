// Package server carries bytes between clients and sessions. It owns the sockets, the
// limits of size and time, and draining. Of a command it uses only the form that all
// commands have.
//
// It imports commands/resp, for the reader that finds commands in bytes, and
// commands/session, for the description of a client that a session gets. It uses sessions
// through an interface, Session.
//
// # Promises
//
//   - No bytes, before authentication or after, crash it, make it spin, or make a
//     connection hold more than its bounds: a command of Limits.QueryBytes, twice that
//     while its buffer grows, at most 64 bytes for each argument received, and output of
//     Limits.OutputBytes and a batch. A length that is only claimed costs nothing.
//   - Nothing is executed after the first sign of HTTP, because a web page can make a
//     browser send it. Such a connection is closed, counted and logged. A TLS handshake on
//   - A pipeline is a batch: all complete commands of a read, up to 1024 ops or
//     256 KB of output, are executed by one Flush and answered by one write. Commands on plain
//     values are executed in smaller batches. A turn then ends a quarter of a millisecond after its
//     start, or with the batch in flight at that time.
//   - Config.Commit is called after a batch was executed and before its replies are
//     written. An event loop executes the batches of all ready connections, calls Commit
//     once, and then writes to all of them. It does so earlier for a connection that has
//     more to execute or ends, and when 48 KB of replies are collected, or up to 1 MB if
//     the output of a single connection has been large.
//   - A client that does not read its replies is closed when its backlog has not been written
//     within Config.WriteTimeout. Event loops continue to read from it while its backlog is
//     below Limits.OutputBytes, and Config.Room is not full, so that a pipeline of a million
//     commands can be sent whole before a reply is read. Beyond these bounds, before
//     authentication, and on a connection with a goroutine, it is not read from; the backlog
//     then grows by the replies of a single batch at most.
//   - Event loops serve other connections after each batch of a connection that has more to
//     execute. The batch is 256 ops for a connection that sends more than a read takes, 64
//     KB, while other connections do not. Connections with large batches together have half
//     a millisecond of each wake-up, plus the batch under way at its end; the replies of
//     all other connections are written before.
//   - With a goroutine per connection, heavy connections, and new connections at their first
//     command, take turns. At most half as many run at once as there are processors.
//   - If the work of the first command of a connection may grow with the values that it uses, the
//     command takes a turn like a heavy connection.
//   - Event loops accept at most eight connections of a listener at a wake-up, after they
//     have served the open connections.
//   - Event loops serve at most eight unauthenticated connections at a wake-up. A
//     connection counts as unauthenticated until its second complete command has come.
//   - The arguments passed to Session.Do stay unchanged until Flush has returned true, or
//     until Resume has been called and no batch is in flight.
//   - Client.Wake must be called for each time that Do or Flush returned false, and for
//     messages from other clients. It may be called before Do or Flush returns, and more
//     often than necessary. It wakes an idle connection like a connection with a batch
//     that has come back: Resume is called and its output is written. That needs no
//     goroutine.
//   - Messages to a client that does not read count as its output: beyond
//     Limits.OutputBytes, or session.CrowdedBytes while the room is full, it is closed.
//   - A client is idle from the end of its last command, or from the time when it has read all
//     replies, if that is later. A client with subscriptions is never idle.
//   - Shutdown answers all complete commands that this machine has received, then
//     closes. The replies to executed commands are always written, unless the context
//     ends first.
//   - A TLS handshake may take 10 s; the connection counts as a client after it. Handshakes
//     use at most half of the processors, so that any number of them leaves processors for
//     clients. At most 512 are under way; further connections wait in the system's queue
//     for a slot. The oldest handshake loses its slot to them once it has had half a
//     second. So clients that never finish neither use up Config.MaxClients nor keep other
//     clients out.
//   - A panic in a session ends that connection and is logged with its stack. A panic in
//     the execution of a batch, in Config.Commit or in a read of the engine ends the
//     process.
//   - In steady state nothing is allocated for a command. (crypto/tls allocates 24 bytes
//     for each part of a record that it reads.)
//
// # Shape
//
// A conn is a connection without its socket: bytes in, commands to the session, bytes
// out. Two transports drive it and have nothing else in common. On Linux the default is
// event loops, elsewhere a goroutine per connection. Either also serves the connections over
// TLS, once a goroutine has done the handshake. In a loop crypto/tls reads and writes memory
// instead of a socket, see tlsLayer.
//
// The files refer to each other in one direction:
//
//	server -> transports, which accept: secure -> loops (Linux), goroutines -> env -> conn
//
// An env is all of the Server that a transport sees.
//
// The event loop exists because the cost of a single request is the cost of the kernel
// and of the scheduler, and a loop is woken up once for all ready connections. Server
// CPU per request, redis-benchmark beside the server on two shared cores, each the range
// of four runs:
//
//	connections  pipeline  one loop      goroutines
//	50           1         5.8-6.7 us    8.4-9.8 us
//	50           16        0.38-0.41 us  0.56-0.58 us
//	1            1         8.3-12.5 us   11.3-16.8 us
//
// Two loops took 7.4 to 9.7 us at 50 connections: each finds fewer requests at a
// wake-up. So the default is one loop for every two CPUs.
//
// Replies are collected in a single arena until the end of the wake-up. This costs nothing:
// server CPU per request, redis-benchmark with 50 connections beside the server on a shared
// machine, alternating with a server that wrote each reply at once, each the range of eight
// runs:
//
//	pipeline  each at once   at the end of the wake-up
//	1         6.9-8.6 us     6.8-8.6 us
//	16        0.71-1.01 us   0.73-0.96 us
//	64        0.41-0.50 us   0.38-0.48 us
//
// A loop lends its buffers to each connection in turn. The part that a batch in flight
// points into stays lent, and other connections borrow the part after it, so that many
// small batches in flight share 64 KB; a chunk is reused when the last batch is back.
// Output that a client does not take moves out of the arena. An idle connection holds 0.6
// KB, including its session and its share of the tables, or 1.1 KB after a command that was
// cut off. A connection with a goroutine holds 4.5 KB, then 8.5 KB when its stack has
// grown, and up to 18 KB after long pipelines. A connection over TLS in a loop holds 8 KB,
// most of them crypto/tls's, and up to 25 KB after pipelines that fill records of 16 KB,
// because crypto/tls keeps room for them. With a goroutine it holds 4 KB more for the
// stack.
package server
