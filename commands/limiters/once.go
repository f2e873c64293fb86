package limiters

import (
	"encoding/binary"

	"limitsrv/commands/reservations"
	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
	"limitsrv/engine/siphash"
)

const (
	wordOnce = "ONCE"
	onceForm = " ONCE id [FOR duration]"
	onceArgs = " [ONCE id [FOR duration]]"
)

// OnceFor is the time to remember an id unless FOR is given, in nanoseconds.
const OnceFor = reservations.Remembered

// keyAndID is the position of a key, the first word after the name, and of the id of the option ONCE,
// which is at the index least or later.
func keyAndID(least int) spec.Keys {
	k := spec.OneKey
	k.Once = least
	return k
}

// A once is the option ONCE id [FOR duration]: the command acts once while its id is remembered. Its
// zero value is no such option.
type once struct {
	id    []byte
	nanos int64 // to remember it
}

// hasOnce reports whether a batch of a level has the option. Scripts at lower levels do not have it.
func hasOnce(level uint8) bool { return level == 0 || level >= spec.OnceLevel }

// andOnce is the part of an error text for a batch of a level with the option.
func andOnce(level uint8) string {
	if hasOnce(level) {
		return ", then" + onceForm
	}
	return ""
}

// cut takes the option off the end of the words of a line, for a batch of a level.
func (o *once) cut(words [][]byte, level uint8) (rest [][]byte, err error) {
	n := len(words)
	if n == 0 || !hasOnce(level) {
		return words, nil
	}
	at := spec.OnceAt(words)
	if at < 0 {
		for _, missing := range words[max(0, n-3):] {
			if word.Is(missing, wordOnce) {
				return nil, resp.NewError("ERR", "syntax error, the end of the line must be"+onceForm)
			}
		}
		return words, nil
	}
	o.id, o.nanos, err = ParseOnce(words[at:])
	return words[:at], err
}

// ParseOnce parses the words ONCE id [FOR duration] into the id and the nanoseconds to remember it.
func ParseOnce(words [][]byte) (id []byte, nanos int64, err error) {
	id, nanos = words[1], OnceFor
	if err = ParseID(id); err == nil && len(words) == spec.OnceWords {
		nanos, err = ParseDuration("duration", words[3])
	}
	return id, nanos, err
}

// wrap replaces the ops of a batch from index first on by a call that carries them out once. The hash of
// the request covers the kinds, keys, algorithms and permits, and not the parameters and ages: the
// same request may be sent again after its limits were changed.
func (o *once) wrap(b *engine.Batch, first int) {
	var (
		buf  [256]byte
		hash = buf[:0]
	)
	for i := first; i < len(b.Ops); i++ {
		op := &b.Ops[i]
		n := op.N
		if asked, closed := isClosed(op); closed {
			n = asked
		} else if asked, looks := op.Looked(); looks {
			n = asked
		}
		hash = append(hash, byte(op.Kind), byte(op.Params.Alg))
		hash = binary.AppendUvarint(binary.AppendUvarint(hash, uint64(n)), uint64(len(op.Key)))
		hash = append(hash, op.Key...)
	}
	reservations.Wrap(b, first, o.id, o.nanos, siphash.Key{}.Sum(hash))
}
