// Package commands turns command lines into ops and decisions into replies. It
// owns the one command table, argument parsing, RESP2 and RESP3 replies, the
// error codes, and the state of a connection: login, protocol, transaction.
//
// It knows no socket: a Session is bytes in, bytes out. It imports engine, its own
// package users and redcon's reply writers.
//
// # The way of a command
//
// Session.Do looks the name up in the table, checks the number of words by the
// command's usage, and lets the command append its ops to the session's batch.
// Session.Flush hands the batch to an Exec and has each command write its reply
// from the decisions on its ops. A pipeline is so one batch: one reading of the
// clock, one entry of each shard, one write. A command that needs more than
// decisions is a run command; what was gathered is flushed before it runs.
//
// An Exec may answer at once, as Local does, or later and from another
// goroutine. Until then the session takes nothing.
//
// # What comes passwordless
//
// Other sessions send a session messages, and what MONITOR shows, into its inbox,
// which is bounded; the first wakes the transport, and Resume puts all out between
// replies. A session whose SAVE or other run command is under way elsewhere, or that CLIENT PAUSE holds back, is
// away as if a batch of it were. So there is one way to wake a connection, and no
// goroutine for it. Commands look at one word, Handler.attention, which is 0 unless
// somebody monitors or pauses, or the state is being loaded.
//
// # Users
//
// A session has an account, which is a user as the file of users has it by now; nil is
// who has not logged in. Commands look at rights only where there is such a file, by the
// bit guarded of Handler.attention. Which group a command needs follows from its
// flags, see needsOf: what only reads needs peek, what gives and takes permits
// decide, and what forgets keys or administers admin; the rest, which clients send by
// themselves, is for everyone who has logged in. Rights are held against the words
// that Keys names, and a test shows that a command touches no other key. A new file changes
// the rights of accounts in place, and closes the sessions of those that are gone.
//
// A login may cost a hash, and so comes later, as SAVE does: logins says what
// slows it and what does not.
//
// # Clusters
//
// A Cluster tells which node leads and how the others stand, for CLUSTER, ROLE, INFO
// and WAIT, and changes that. Which node decides is the Exec's affair: a session does
// not know it, so that WATCH too is a batch. Two things are up to the session. A
// command with keys is answered MOVED, and not carried out, where the Cluster says so. And
// READONLY marks batches as Stale: what only looks in them may be answered by a node
// that is behind, WATCH as well, since what a client then reads there must not be older
// than what it watches. What was not decided for want of a majority has the status
// Down, and is answered CLUSTERDOWN by itself; a transaction is, as a whole.
//
// # Time
//
// Each batch and each run command is timed: a batch costs one reading of the clock
// at its begin and one at its end, and a run command that follows at once on
// another one only. The commands of a batch have equal shares of its time.
//
// # Promises
//
//   - One reply for each command, in order, well-formed, whatever the bytes; but
//     for CLIENT REPLY OFF and SKIP, SHUTDOWN, and what follows QUIT, and for
//     (UN)SUBSCRIBE, which answers for each name.
//   - What is refused changes nothing. An error names what was wrong, what is
//     allowed and what was given; its code word keeps its meaning for ever.
//   - No allocation for a command that is decided, once a session is warm.
//   - A secret that a client sends is in no reply to others, log, slow log or MONITOR.
//   - While the state is loaded, what needs it is refused with LOADING.
//   - EXEC carries the ops of a transaction out as one atomic batch. Its run
//     commands are carried out after that, in their place among the replies: so
//     DBSIZE in a transaction counts what the whole transaction has left.
//   - Queues, inboxes, subscriptions, the slow log, replies of KEYS, steps of SCAN and names of clients are bounded.
//
// # To add a command
//
// Write a Command beside its like, list it in table, and write a script
// testdata/NAME.txt. Arity, COMMAND, COMMAND DOCS, redis-cli's hints, help, the
// README and the tests of bad input follow from the table.
package commands
