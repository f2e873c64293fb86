// Package commands turns command lines into ops and decisions into replies. It
// owns the one command table, argument parsing, RESP2 and RESP3 replies, the
// error codes, and the state of a connection: login, protocol, transaction.
//
// It knows no socket: a Session is bytes in, bytes out. It imports engine and
// redcon's reply writers.
package commands
