// Package commands has the command table, and the commands that are neither in datatypes nor in
// limiters: the parsing of arguments, and the replies. Package session, below it, owns the state of a
// connection and runs the commands. All use the same record, spec.Command.
//
// # Promises
//
//   - A denied or rejected command changes nothing. An error names the argument, the
//     allowed values and the value given; its code word keeps its meaning for ever.
//   - The Parse and the Reply of spec.Ops allocate nothing, except for an error.
//   - Replies of KEYS, steps of SCAN and client names are bounded.
//
// The promises of session are about all commands.
//
// # To add a command
//
// Write a spec.Command next to similar ones, list it in table, and write a script
// testdata/NAME.txt. Arity, COMMAND, COMMAND DOCS, redis-cli's hints, help, the README
// and the tests of bad input follow from the table.
package commands
