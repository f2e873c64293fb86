// Package scripts has EVAL and similar commands: the calls that run scripts in Lua. Scripts call the
// commands of datatypes and limiters.
//
//	SCRIPT LOAD, EVAL -> engine.Learn: the text becomes a source of the engine
//	EVAL, EVALSHA     -> engine.Do: a Run with the hash, the keys and the arguments
//	Do -> the source's compiled Script -> machine -> redis.call -> datatypes, limiters
//	FUNCTION LOAD     -> engine.Do: the text becomes a document of the engine
//	FCALL             -> engine.Do: as for EVAL, with the name of a function
//
// A log and other nodes hold the call, not its effects: each node runs the script again, at
// the time of the entry. So a script sees nothing but its arguments, the keys, that time,
// and a generator that is seeded by it. The budget of steps travels with the call.
//
// The texts of errors and the conversions are as in Redis 7.2. See package lua for the
// language.
//
// # Keys and reads
//
// A Script knows which commands it calls and which keys they name, as far as its text says
// so, see uses. If all keys are declared, only their shards are entered, otherwise all of
// them. If all commands are reads, the call is ReadOnly.
//
// # Commands
//
// redis.call finds a command in its record in datatypes or limiters. TIME, SCAN and similar
// commands need a connection or a node for clients. They have a second record here, because all
// nodes must compute the same. For this reason the names that scripts must not call are a list: the
// table for clients depends on the options of a node.
//
// # Functions
//
// A run of a function first runs the code of its library outside of functions, which sees only
// redis.register_function, redis.log and constants, and then the callback of that name. So the
// variables of a library keep nothing from run to run. Names, flags and descriptions come from a
// run when the document was compiled.
//
// A caller tells which shards a run needs by the function that it knows. If another function has
// replaced it since, and needs more, the run is answered TRYAGAIN.
//
// # Where it differs from Redis
//
//   - A script has a budget of steps and of memory. Beyond it the script ends with an error
//     that pcall does not catch. Effects so far stay.
//   - Scripts survive a restart. Beyond engine.MaxSources or engine.MaxSourcesBytes those
//     learned first are dropped.
//   - A script calls the commands of datatypes, the commands of limiters, RL.RESET, and
//     ownCommands.
//   - PUBLISH answers 0. Each node sends the message to its subscribers when it applies the run;
//     a run that publishes enters all shards, so that messages have the order of the runs.
//   - redis.log and redis.set_repl check their arguments and do nothing else.
//   - An answer is nested 32 deep at most, and has 20 MB at most.
//   - cmsgpack is missing.
package scripts
