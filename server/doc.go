// Package server carries bytes between clients and sessions. It owns the sockets,
// the reader that finds commands in bytes, the limits of size and time, and
// draining. It knows no command but by the shape that all have.
//
// It imports commands, for what a session is told about its client, and the
// standard library. A session is known by an interface, Session.
//
// # Promises
//
//   - No bytes, before login or after, crash it, make it spin, or make a connection
//     hold more than its bounds: a command of Limits.QueryBytes, once more while its
//     buffer grows, at most 64 bytes for each argument received, and output of
//     Limits.OutputBytes. A length that is only claimed costs nothing.
//   - Nothing is executed from the first sign of HTTP on, see isHTTP: a web page can have
//     a browser send it. Such a connection is closed, counted and logged. A TLS handshake
//     on a plain port is treated alike.
//   - The cost of reading is linear in the bytes, however they are cut up.
//   - A pipeline is a batch: all complete commands of a read, up to 1024 ops or
//     256 KB of output, are executed by one Flush and answered by one write.
//   - No reply is written before Config.Commit was called after what it answers was
//     executed. An event loop executes what all connections that are ready ask for,
//     calls Commit once, and then writes to all of them; sooner for a connection that
//     has more to do or ends, and when 48 KB of replies wait, or up to 1 MB where the
//     output of a single connection has been large.
//   - A client that does not read its replies is closed when it has not taken those
//     that wait within Config.WriteTimeout. Event loops go on reading from it as long
//     as what waits for all clients is less than 64 MB, so that a pipeline of a million
//     commands may be sent whole before a reply is read. Beyond that, before login, and
//     where a goroutine serves it, it is not read from: it then has no more than one
//     batch's replies waiting besides.
//   - A connection that has more than a batch to execute lets others have their turn
//     after each, where event loops serve it. One that sends more than a read takes, 64 KB,
//     beside clients that do not has its turns after 256 ops. Connections with large
//     batches share half a millisecond of each wake-up, and the batch under way then,
//     however many they are; the replies of all others are written before.
//   - Strangers, who are not logged in or have not sent a whole command yet, keep others
//     waiting for eight of them at most, where event loops serve them.
//   - The arguments given to Session.Do stay as they are until Flush has answered
//     true, or Resume has been called, and nothing more is pending.
//   - Client.Wake is to come for each time that Do or Flush answered false, and for
//     what others send. It may come before that answer has been given, and too often.
//     An idle connection is woken up by it as one whose batch is back: Resume is called
//     and what it put out is written. No connection needs a goroutine for that.
//   - What others send to a client that does not read counts as its output: beyond
//     Limits.OutputBytes it is closed. A client that listens is never idle.
//   - Shutdown answers all complete commands that this machine has received, then
//     closes. What a session has executed is always written out, unless the context
//     ends first.
//   - Who is to speak TLS has 10 s for the handshake and is no client before it is done.
//     Handshakes work on half of the processors at once, so that no flood of them has
//     clients wait.
//     At most 512 are at it; others wait in the system's queue for a place, which the
//     one longest at it has for half a second in any case. So strangers who never finish
//     neither take room of Config.MaxClients nor keep others out.
//   - A panic in a session ends that connection and is logged with its stack, unless it
//     is in the execution of a batch, in Config.Commit or in a read of the engine: that
//     ends the process.
//   - In steady state nothing is allocated for a command. (crypto/tls allocates 24 bytes
//     for a read of a socket.)
//
// # Shape
//
// A conn is a connection without its socket: bytes in, commands to the session,
// bytes out. Two transports drive it and agree on nothing else. On Linux the
// default is event loops; elsewhere, and over TLS, a goroutine for each connection. Both
// serve at the same time where there is a port of each kind.
//
// The reader is our own since a common one dies of a length of 9223372036854775807,
// counts to any number that it is told, recurses for each segment, and starts
// again from the first byte of a command whenever more of it arrives. This one
// takes 31 ns for a command of four arguments and allocates nothing.
//
// The event loop is there since the cost of a request that comes alone is that of
// the kernel and of the scheduler, and a loop is woken up once for all connections
// that are ready. Server CPU for a request, redis-benchmark beside the server on
// two cores that others used as well, each the range of four runs:
//
//	connections  pipeline  one loop      goroutines
//	50           1         5.8-6.7 us    8.4-9.8 us
//	50           16        0.38-0.41 us  0.56-0.58 us
//	1            1         8.3-12.5 us   11.3-16.8 us
//
// Two loops took 7.4 to 9.7 us at 50 connections: each finds fewer requests at a
// wake-up. So the default is one for every two CPUs.
//
// Replies are put one behind the other into one arena until the end of the wake-up.
// That makes nothing slower or faster: CPU of a server for a request, redis-benchmark
// with 50 connections beside it and others on the machine, against one that wrote each
// reply at once, in turn, each the range of eight runs:
//
//	pipeline  each at once   at the end of the wake-up
//	1         6.9-8.6 us     6.8-8.6 us
//	16        0.71-1.01 us   0.73-0.96 us
//	64        0.41-0.50 us   0.38-0.48 us
//
// A loop lends its buffers to one connection after the other. What a batch that is
// away points into stays lent, and others are lent what is behind it, so that many
// small batches that are away share 64 KB; a chunk is used again when the last is
// back. Output that a client does not take moves out of the arena. An idle connection
// holds 0.6 KB, its session and its share of the tables included, or 1.1 KB after
// a command that was cut off; one with a goroutine holds 4.5 KB, then 8.5 KB when
// its stack has grown, and up to 18 KB after long pipelines. One over TLS holds 12 KB,
// of which some 6 are crypto/tls's and 4 the stack, and up to 36 KB after pipelines that
// fill records of 16 KB, which crypto/tls keeps room for.
package server
