// Package commands turns command lines into ops and decisions into replies. It owns the
// command table: the parsing of arguments, and the replies. Package session, below it, owns
// the state of a connection and runs the commands; the two meet in session.Command.
//
// It imports engine, datatypes, whose commands it lists in its table, and the packages below
// it: session; backend, the parts of the node; auth, the users and their logins; resp, the
// protocol; usage, the arguments of a command; and word and glob, the words and patterns of
// command lines.
//
// # Promises
//
//   - A denied or rejected command changes nothing. An error names the argument, the
//     allowed values and the value given; its code word keeps its meaning for ever.
//   - The Op and the Reply of a command allocate nothing, except for an error.
//   - Replies of KEYS, steps of SCAN and client names are bounded.
//
// The promises of session are about all commands.
//
// # To add a command
//
// Write a Command next to similar ones, list it in table, and write a script
// testdata/NAME.txt. Arity, COMMAND, COMMAND DOCS, redis-cli's hints, help, the README
// and the tests of bad input follow from the table.
package commands
