// Package resp reads and writes the Redis protocol: RESP2, inline commands, and RESP3 in
// replies. It owns the reader that finds commands in bytes, its bounds and its buffers,
// the writer that appends replies, and the errors for clients. It knows no command and no
// connection.
//
// It imports redcon's reply writers.
//
// # Promises
//
//   - No bytes make a Reader crash, spin, or hold more than its bounds: a command of
//     Limits.QueryBytes, twice that while its buffer grows, and at most 64 bytes for each
//     argument received. A length that is only claimed costs nothing.
//   - After a protocol error a Reader returns no command. The first sign of HTTP is a
//     protocol error, see isHTTP, because a web page can make a browser send it. A TLS
//     handshake is a protocol error too.
//   - The cost of reading is linear in the bytes, however they are segmented.
//   - A Writer writes well-formed replies if each head is followed by the number of
//     replies that it announced, whatever bytes they contain.
//   - In steady state neither allocates.
//
// # Shape
//
// The reader is our own because a common reader fails at a length of 9223372036854775807,
// counts up to any announced number, recurses for each segment, and starts again from the
// first byte of a command whenever more of it arrives. Our reader takes 31 ns for a command
// of four arguments and allocates nothing.
package resp
