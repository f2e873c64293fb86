package lint_test

// An applyException permits violations of a rule in a place: a package, a file, or a function or
// method as file:name. An empty rule stands for all rules. A reason belongs to each.
type applyException struct {
	place  string
	rule   applyRule
	reason string
}

var applyExceptions = []applyException{
	// Files that Apply does not use, in packages that it reaches.
	{"commands/rules/attributes.go", ruleImport,
		"compiled rules: they decide before ops are proposed, and ops have the decision"},
	{"commands/rules/counters.go", ruleMap, "tiers of a rule, sorted; commands find counters before ops are proposed"},
	{"commands/rules/diff.go", ruleImport, "the difference of two sets, for counts and reports"},
	{"commands/rules/address.go", ruleAll, "addresses of requests, which compiled rules decide before ops are proposed"},
	{"commands/rules/path_form.go", ruleImport, "paths of requests, which compiled rules decide before ops are proposed"},
	{"commands/rules/metadata.go", ruleMap, "metadata of answers, merged by name"},
	{"commands/rules/overrides.go", ruleAll, "compiled overrides; Apply reads those of the documents"},
	{"commands/rules/table.go", ruleImport, "compiled rules: they decide before ops are proposed"},
	{"commands/rules/way.go", ruleSync, "numbers of domains of compiled rules"},
	{"commands/rules/source/cases.go", ruleTime, "times of test cases, which are decided on an engine of their own"},
	{"commands/rules/source/cases_yaml.go", ruleTime, "times of test cases"},
	{"internal/yamlfile/yamlfile.go", ruleImport, "rules are read before their text is proposed"},
	{"internal/pace", ruleAll, "slows the compiling of rules, in goroutines of the node"},
	{"commands/resp/error.go", ruleSync, "counts of errors for metrics; Apply uses the texts of errors only"},
	{"commands/resp/pool.go", ruleAll, "buffers of connections"},
	{"commands/resp/writer.go", ruleImport, "writes answers to connections"},

	// Several goroutines apply and read shards under the engine's locks.
	{"engine/shard.go", ruleSync, "the lock of a shard, and the sums of memory; their effects are ops of the log"},
	{"engine/engine.go", ruleSync, "cursors of Sweep and Victims, which change no decision, and settings"},
	{"engine/documents.go", ruleSync, "readers outside of Apply see documents without a lock"},
	{"engine/sources.go", ruleSync,
		"readers outside of Apply see sources without a lock; steps of runs are for schedules"},
	{"engine/runs.go", ruleSync, "steps of runs are for schedules"},
	{"engine/command_counts.go", ruleSync, "counts of commands for INFO and metrics; no decision reads them"},
	{"engine/moments.go", ruleSync, "moments are given to calls before they are proposed"},
	{"engine/growth.go", ruleSync, "lists that grew are reported to clients that wait; no decision reads them"},
	{"engine/changes.go", ruleSync, "changed keys are reported to clients that keep values; no decision reads them"},
	{"engine/notices.go", ruleSync, "messages are sent to subscribers; no decision reads them"},
	{"engine/images.go", ruleSync, "images of shards for snapshots; no decision reads them"},
	{"engine/freeze.go", ruleImport, "a snapshot yields to callers of Apply"},
	{"engine/snapshot.go", ruleImport, "memory of images goes back to the system after a snapshot"},
	{"engine/load.go", ruleSync, "buffers for snapshots that are read, without contents"},
	{"commands/reservations/once.go", ruleSync, "memory of calls, without contents"},
	{"commands/scripts/run.go", ruleSync, "machines between runs, of which nothing is kept but memory"},
	{"commands/scripts/library.go", ruleSync, "machines between runs; steps of runs are for schedules"},
	{"commands/scripts/functions.go", ruleSync, "the functions of a version of the documents, computed from these"},
	{"commands/scripts/keeper.go", ruleSync, "compiled forms, computed from texts"},
	{"commands/scripts/lua/arena/arena.go", ruleImport, "the sizes of types"},
	{"commands/scripts/lua/arena/arena.go", rulePointer, "the size of a type is a length of memory, which no script sees"},

	// Orders of maps that nothing shows.
	{"commands/scripts/lookup.go", ruleMap, "the names are sorted, and they number counters that no decision reads"},
	{"commands/scripts/call.go:callFunction", ruleMap, "fills a map"},
	{"commands/scripts/callbacks.go:keyTables", ruleMap, "fills a map: each element by itself"},

	// The calendar of windows, in UTC.
	{"engine/fixed.go", ruleTime, "the calendar of a given time, in UTC"},

	// Calls of level 1 compute as the processor does.
	{"commands/scripts/lua/number/native.go", ruleAll, "the results of level 1, which logs have"},
	{"commands/scripts/lua/library/math.go", ruleMath, "the functions of level 1; elementary has those of level 2"},

	// Floats that are in the range of the integer, or are compared with it afterwards: out of
	// range it is any integer, and differs.
	{"commands/datatypes/blocking.go:Timeout", ruleCast,
		"at most longestTimeout in milliseconds, and not negative beyond that"},
	{"commands/limiters/dropin.go:emissionInterval", ruleCast, "bounded by engine.MaxPeriod, and positive"},
	{"commands/limiters/dropin_gcra.go", ruleCast, "at most 1e18, and positive"},
	{"commands/scripts/lua/assign.go", ruleCast, "compared afterwards"},
	{"commands/scripts/lua/exprs.go:index", ruleCast, "compared afterwards"},
	{"commands/scripts/lua/exprs.go:elementAt", ruleCast, "compared afterwards"},
	{"commands/scripts/lua/value/table.go:position", ruleCast, "0 or 1, of a boolean"},
	{"commands/scripts/lua/value/value.go:index", ruleCast, "compared afterwards"},
	{"commands/scripts/lua/number/format.go:Append", ruleCast, "compared afterwards"},
	{"commands/scripts/lua/number/printf.go", ruleCast, "bounds are checked before: these are the casts for others"},
	{"commands/scripts/lua/elementary/circular.go", ruleCast, "an index of a table, of an argument that is reduced"},
	{"commands/scripts/lua/elementary/inverse.go", ruleCast, "an index of a table, of a quotient up to 1"},
	{"commands/scripts/lua/elementary/exponential.go", ruleCast, "an exponent, of an argument between minExp and maxExp"},
	{"commands/scripts/lua/elementary/logarithm.go", ruleCast, "an integer below 2^53"},
	{"commands/scripts/call.go:appendNumber", ruleCast, "bounds are checked before"},
	{"engine/values/elements.go:appendScore", ruleCast, "bounds are checked too, and the result is compared"},
	{"engine/values/numbers/doubles.go:AppendDouble", ruleCast, "bounds are checked before"},
	{"engine/values/numbers/grisu.go:powerFor", ruleCast, "some digits of an exponent"},
}
