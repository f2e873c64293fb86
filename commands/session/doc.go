// Package session owns the state of a connection, and the state that all connections share:
// login, protocol, transaction, pushed messages, counters, the slow log. It runs the bodies of
// commands, and finds commands in a Registry; it has no command of its own except HELP of
// containers. The table, the arguments and the replies are in package
// commands, which imports it.
//
// It does no socket I/O: a Session takes parsed commands and appends bytes to a buffer. It
// imports engine; backend, the parts of the node that it uses; auth, the users and their
// logins; resp, the protocol; and usage, word and glob.
//
// # Command flow
//
// Session.Do looks the name up in the table, checks the number of words against the
// command's usage, and appends the command's ops to the session's batch. Session.Flush
// passes the batch to the Executor, then each command writes its reply from the decisions on
// its ops. A pipeline is therefore a single batch: one clock reading, one lock of each
// shard, one write. A command that needs more than decisions is a run command; the batch is
// flushed before it runs.
//
// The Executor may complete a batch before it returns, as with backend.Local, or later from another
// goroutine. Until then the session accepts no command.
//
// # Pushed messages
//
// Messages of other sessions and MONITOR lines go into the session's bounded inbox. The
// first message wakes the transport, and Resume writes the inbox between replies. A session
// that waits for SAVE or another deferred command, or that CLIENT PAUSE holds back, is in
// the state away, as if a batch were in flight. There is therefore a single way to wake a
// connection, and no goroutine per connection for it. Commands load one word,
// Handler.hooks, which is 0 unless a session monitors, a pause is on, the state is loading,
// a users file is in use, or clients treat the server as a Redis Cluster.
//
// # Users
//
// A session has an auth.Account: a user with the current rights from the users file. It is nil
// before login. Commands check rights only if there is a users file (bit guarded of Handler.hooks).
// The group that a command requires follows from its flags, see needsOf: commands that only read
// require peek, commands that take or return tokens require decide, commands that delete keys or
// administer require admin. The rest, which client libraries send on their own, requires a login
// only. Key patterns are checked against the words that Keys names; a test of package commands
// shows that a command uses no other key. A reload changes the rights of accounts in place, and
// closes the sessions of removed users.
//
// A login may require a slow password hash and is therefore deferred, as SAVE is;
// auth.Logins documents its limits.
//
// # Clusters
//
// A Cluster reports the leader and the state of the nodes, for CLUSTER, ROLE, INFO and
// WAIT, and changes the membership. The Exec chooses the node that decides; the session
// is not aware of it, and therefore WATCH is a batch too. The session does three things:
//
//   - It answers MOVED to a command with keys if Cluster.Where names another node for
//     the slot, and does not execute it.
//   - Before a command that reads state outside of batches, see spec.Command.Fresh, it waits until
//     this node has every change that another node has answered.
//   - After READONLY it marks batches as Stale. A replica may answer read-only commands
//     of such a batch, including WATCH, so that later reads are at least as new as the
//     watched value.
//
// A command that was not decided because there is no quorum has the status Down, and is
// answered CLUSTERDOWN; a transaction is answered CLUSTERDOWN as a whole.
//
// # Time
//
// Each batch and each run command is timed. Cost: two clock readings for a batch, a single
// reading for a run command that directly follows another. The time of a batch is divided
// evenly among its commands.
//
// # Promises
//
//   - One reply for each command, in order, well-formed for any input. Exceptions: CLIENT
//     REPLY OFF and SKIP, SHUTDOWN, commands after QUIT, and (UN)SUBSCRIBE, which sends a
//     reply for each name.
//   - No allocation for an op command after the first batches of a session.
//   - A secret sent by a client appears in no reply to others, log, slow log or MONITOR.
//   - While the state is loading, commands that need it are rejected with LOADING.
//   - EXEC applies the ops of a transaction as a single atomic batch. Its run commands run
//     after the batch, in their place among the replies: DBSIZE in a transaction returns
//     the number of keys after the whole transaction.
//   - Queues, inboxes, subscriptions and the slow log are bounded.
//   - Answers are counted before they are built. The unread answers, together with the answers of
//     batches in flight, have at most RoomBytes plus one batch for each of these; see Room and
//     longAnswers.
//
// # Shape
//
// Session depends on types that do not refer to it: Hub and inbox, pause, hooks, SlowLog,
// Stats. On the other side are the methods that only other packages call, such as
// Info, Exec, Subscribe, Decide and those of observe.go; the core of Session does not use
// them.
package session
