package datatypes

import (
	"fmt"

	"limitsrv/commands/spec"
	"limitsrv/engine"
)

// table has the command with each number. The numbers stand in logs: a number never changes its
// meaning, and a new command has the next number after all that are in use. Unused numbers have no Name.
var table = numbered(stringCommands, keyCommands, hashCommands, sortedSetCommands, listCommands, setCommands,
	bitCommands)

// numbered merges families of commands by their numbers, and sets the numbers of calls and the
// flags that all commands of this package have.
func numbered(families ...[]spec.Command) (all []spec.Command) {
	for _, family := range families {
		all = append(all, make([]spec.Command, max(0, len(family)-len(all)))...)
		for i, c := range family {
			if c.Name == "" {
				continue
			}
			if all[i].Name != "" {
				panic(fmt.Sprintf("%s and %s have the number %d", all[i].Name, c.Name, i))
			}
			c.SetNumber(uint16(i))
			c.Flags |= spec.Plain
			all[i] = c
		}
	}
	return all
}

// with returns the function of a command that is do in one of its ways.
func with[T any](do func(tx *engine.Tx, args [][]byte, way T, out []byte) []byte, way T) func(*engine.Tx, [][]byte,
	[]byte) []byte {
	return func(tx *engine.Tx, args [][]byte, out []byte) []byte { return do(tx, args, way, out) }
}
