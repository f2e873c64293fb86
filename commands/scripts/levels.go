package scripts

import "limitsrv/commands/spec"

// newest is the newest level of meaning. namesLevel is the first level that gives scripts
// Valkey's name of the API table, commands on all keys, SELECT, INFO and MEMORY USAGE.
const newest uint8 = spec.Level

const namesLevel = 2

// chargedLevel is the first level of calls that charges scripts for all work and memory before
// it is spent, and that computes the same results on all processors.
const chargedLevel = 2

// blockingLevel is the first level of calls that lets scripts call blocking commands.
const blockingLevel = 2

// togetherLevel is the first level of calls that counts the buffers of nested functions together.
const togetherLevel = 3

// Names of the API table of scripts: redisTable is the name in Redis. valkeyTable is the name in
// Valkey, and exists from level 2 of calls on.
const (
	redisTable  = "redis"
	valkeyTable = "server"
)
