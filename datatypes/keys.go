package datatypes

import (
	"bytes"
	"strings"

	"limitsrv/answer"
	"limitsrv/engine"
)

func exists(tx *engine.Tx, args [][]byte, out []byte) []byte {
	n := int64(0)
	for _, key := range args {
		if _, there := tx.Find(key); there {
			n++
		}
	}
	return answer.AppendInt(out, n)
}

func del(tx *engine.Tx, args [][]byte, out []byte) []byte {
	n := int64(0)
	for _, key := range args {
		if e, there := tx.Find(key); there {
			tx.Drop(e)
			n++
		}
	}
	return answer.AppendInt(out, n)
}

// typeNames are the names of TYPE, by algorithm or row.
var typeNames = func() (names [engine.SortedSet + 1]string) {
	for i := range names {
		names[i] = strings.ToLower(engine.Alg(i).String())
	}
	return names
}()

func typeOf(tx *engine.Tx, args [][]byte, out []byte) []byte {
	e, there := tx.Find(args[0])
	if !there {
		return answer.AppendStatus(out, "none")
	}
	return answer.AppendStatus(out, typeNames[e.Alg()])
}

func object(tx *engine.Tx, args [][]byte, out []byte) []byte {
	if !isWord(args[0], "ENCODING") {
		return fail(out, "ERR unknown subcommand '"+printable(args[0])+"'. Try OBJECT HELP.")
	}
	e, there := tx.Find(args[1])
	if !there {
		return answer.AppendNil(out)
	}
	name := typeNames[e.Alg()]
	if e.Alg().IsPlain() {
		name = tx.Encoding(e)
	}
	return append(answer.AppendBulkHead(out, len(name)), name...)
}

const errNoKey = "ERR no such key"

func rename(tx *engine.Tx, args [][]byte, out []byte) []byte {
	e, there := tx.Find(args[0])
	if !there {
		return fail(out, errNoKey)
	}
	if !bytes.Equal(args[0], args[1]) {
		to, _ := tx.Find(args[1])
		tx.Rename(e, to)
	}
	return append(out, answer.OK...)
}

func renameNX(tx *engine.Tx, args [][]byte, out []byte) []byte {
	e, there := tx.Find(args[0])
	if !there {
		return fail(out, errNoKey)
	}
	to, taken := tx.Find(args[1])
	if !taken {
		tx.Rename(e, to)
	}
	return truth(out, !taken)
}
