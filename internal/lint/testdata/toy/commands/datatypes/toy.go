package datatypes

import (
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// toy stores a string at a free key, and answers its length, or 0.
func toy(tx *engine.Tx, args [][]byte, out []byte) []byte {
	e, there := tx.Find(args[0])
	if there {
		return answer.AppendInt(out, 0)
	}
	if wrong := put(tx, e, there, args[1], 0); wrong != "" {
		return fail(out, wrong)
	}
	return answer.AppendInt(out, int64(len(args[1])))
}
