package datatypes

import (
	"bytes"
	"strings"

	"limitsrv/engine"
	"limitsrv/engine/answer"
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

// workToDrop is the work to delete a key.
const workToDrop = 24

func del(tx *engine.Tx, args [][]byte, out []byte) []byte {
	n := int64(0)
	for _, key := range args {
		if e, there := tx.Find(key); there {
			charge(tx, workToDrop)
			tx.Drop(e)
			n++
		}
	}
	return answer.AppendInt(out, n)
}

// typeNames are the names of TYPE, by algorithm or row.
var typeNames = func() (names [engine.IDRecord + 1]string) {
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
	if e.Alg().IsValue() {
		name = tx.Encoding(e)
	}
	return append(answer.AppendBulkHead(out, len(name)), name...)
}

const errNoKey = "ERR no such key"

// pageOfText is the number of bytes of a long element that move together, as a page.
const pageOfText = 4 << 10

// chargeTexts charges the long elements of a value with at most few elements. Values with more
// elements pay by their number.
func chargeTexts(tx *engine.Tx, e engine.Entry) {
	const few = 1024
	n := sizeOf(tx, e)
	if n > few || tx.Level() < 2 {
		return
	}
	switch e.Alg() {
	case engine.Hash:
		h := tx.Hash(e)
		for i := range n {
			field, value := h.At(i)
			tx.AddWork((field.Len() + value.Len()) / pageOfText)
		}
	case engine.List:
		l := tx.List(e)
		walk := l.Walk(0)
		for range n {
			entry, _ := walk.Next()
			tx.AddWork(entry.Len() / pageOfText)
		}
	case engine.Set:
		t := tx.Set(e)
		for i := range n {
			tx.AddWork(t.At(i).Len() / pageOfText)
		}
	case engine.SortedSet:
		z := tx.SortedSet(e)
		for i := range n {
			member, _ := z.At(i)
			tx.AddWork(member.Len() / pageOfText)
		}
	}
}

func rename(tx *engine.Tx, args [][]byte, out []byte) []byte {
	e, there := tx.Find(args[0])
	if !there {
		return fail(out, errNoKey)
	}
	if e.Alg().IsID() {
		return fail(out, errWrongType)
	}
	if !bytes.Equal(args[0], args[1]) {
		chargeTexts(tx, e)
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
	if e.Alg().IsID() {
		return fail(out, errWrongType)
	}
	to, taken := tx.Find(args[1])
	if !taken {
		chargeTexts(tx, e)
		tx.Rename(e, to)
	}
	return truth(out, !taken)
}
