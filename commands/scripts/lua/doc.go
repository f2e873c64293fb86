// Package lua runs scripts in Lua 5.1, as Redis' scripts need it. It knows no Redis: an
// embedder registers functions and sets variables.
//
//	source -> syntax.Parse -> tree -> Compile -> Chunk -> State.Run -> values
//
// An Env is the global variables: the tables and functions of library, cjson, cstruct and
// bitops, and the embedder's tables and functions. It is frozen before the first script is
// compiled, so names such as string.format are resolved when a script is compiled, and the
// embedder can resolve constant first arguments of its functions then (Function.Bind). A
// Chunk belongs to an Env; it does not change, and any number of States run it. A State
// belongs to one goroutine at a time. A run is Reset, Set for each variable, Run; its
// values are valid until the next Reset.
//
// Each node of the tree becomes a closure that takes the frame of its function: an expr
// returns a value, a cond a bool, a statement a signal. Locals have slots of the frame;
// those that an inner function captures live in boxes. Arguments are evaluated into the
// slots of the function that is called. Errors are panics that Protect and Run recover.
//
// A run allocates nothing once its State has grown: strings, tables, functions and boxes
// come from arenas that Reset empties. All of it counts against Limits.Memory until the
// end of the run, and all work counts as steps; both counts depend on script and values
// only, so a run that ends on one machine ends in the same way on all. For the same reason
// tables and functions have serial numbers in place of addresses.
//
// Exceptions to Redis 7:
//
//   - Coroutines raise an error.
//   - Limits end a script with an error that pcall does not catch.
//   - Lua's limit on nested calls is 20000; in Redis it varies from 16000 on.
//   - collectgarbage answers, but collects nothing.
//   - Functions of math may differ in the last bit. They are the same on all processors.
//   - The handler of xpcall runs after the frames of the error have ended.
//   - "function or expression too complex" is raised for calls with many arguments only.
//   - Settings of cjson hold until the end of the run.
//   - Patterns nest at most 20000 deep.
package lua
