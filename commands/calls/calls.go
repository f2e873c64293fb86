// Package calls lists the calls of every engine, log and snapshot.
package calls

import (
	"limitsrv/commands/datatypes"
	"limitsrv/commands/reservations"
	"limitsrv/commands/rules/stored"
	"limitsrv/commands/scripts"
	"limitsrv/commands/spec"
)

// Commands are the families by the high bits of their numbers, which logs have: append only. The
// caller must not change them.
var Commands = &spec.Calls{
	datatypes.Calls{},
	datatypes.Works{}, // only for looks
	scripts.Calls{},
	stored.Calls{},
	reservations.Calls{},
}
