package scripts

import "limitsrv/datatypes"

// newest is the newest level of meaning, and namesLevel the level from which scripts know Valkey's
// name of their functions, and commands on all keys.
var newest = datatypes.Commands{}.Level()

const namesLevel = 2

// blockingLevel is the level of calls from which scripts may call commands that block.
const blockingLevel = 2

// The names of the table of functions of scripts: the name in Redis and, from level 2 of calls on, the
// name in Valkey.
const (
	redisTable  = "redis"
	valkeyTable = "server"
)
