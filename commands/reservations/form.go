package reservations

import (
	"encoding/binary"

	"limitsrv/engine"
)

// maxMillis bounds the time to remember an id.
const maxMillis = engine.MaxPeriod / 1e6

// Wrap replaces the ops of a batch from index first on, which are one request, by a call that applies
// them once. It remembers the id for so many nanoseconds, rounded up to milliseconds. request is a
// hash of the request. The call refers to id and to the keys of the ops. Requires: the ops are an op
// without a group, or a group; id has 1 to engine.MaxIDBytes bytes.
func Wrap(b *engine.Batch, first int, id []byte, nanos int64, request uint64) {
	var room [hashSize + binary.MaxVarintLen64]byte
	head := binary.LittleEndian.AppendUint64(room[:0], request)
	wrap(b, first, callOnce, id, binary.AppendUvarint(head, uint64(ceilMillis(nanos))))
}

// wrap replaces the ops of a batch from index first on by a call with an id and a copy of a head.
func wrap(b *engine.Batch, first int, number uint16, id, head []byte) {
	c := b.AddCall(0)
	last := len(b.Ops) - 1
	ops := b.Ops[first:last]
	buf := append(make([]byte, 0, len(head)+specSize*len(ops)), head...)
	c.Command = number
	c.Args = append(c.Args, id, buf[:len(buf):len(buf)])
	for i := range ops {
		from := len(buf)
		buf = appendOp(buf, &ops[i])
		c.Args = append(c.Args, buf[from:len(buf):len(buf)], ops[i].Key)
	}
	b.Ops[first] = b.Ops[last]
	b.Ops = b.Ops[:first+1]
}

// specSize is about the length of a spec in bytes.
const specSize = 24

// Wraps reports whether a batch of one command is a call with an answer for a Reply.
func Wraps(b *engine.Batch) bool { return len(b.Calls) > 0 && hasOps(&b.Calls[0]) }

// hasOps reports whether a call is of Wrap or of Reserve.
func hasOps(c *engine.Call) bool {
	return c.Command == callOnce || c.Command == callReserve || c.Command == callReserveNamed
}

func appendOp(dst []byte, op *engine.Op) []byte {
	dst = binary.AppendUvarint(append(dst, byte(op.Kind), byte(op.Mode)), uint64(op.N))
	dst = append(binary.AppendUvarint(dst, uint64(len(op.ID))), op.ID...)
	if op.Kind == engine.Needs {
		dst = append(dst, op.DB)
	}
	if op.Params != (engine.Params{}) {
		dst = op.Params.Append(dst)
	}
	return dst
}

// readOp reads the spec of an op.
func readOp(spec []byte) (op engine.Op, err error) {
	if len(spec) < 2 {
		return op, errCall
	}
	op.Kind, op.Mode = engine.Kind(spec[0]), engine.Mode(spec[1])
	n, size := binary.Uvarint(spec[2:])
	if size <= 0 {
		return op, errCall
	}
	op.N, spec = int64(n), spec[2+size:]
	length, size := binary.Uvarint(spec)
	if size <= 0 || length > engine.MaxIDBytes || length > uint64(len(spec)-size) {
		return op, errCall
	}
	if spec = spec[size:]; length > 0 {
		op.ID = spec[:length:length]
	}
	if spec = spec[length:]; op.Kind == engine.Needs {
		if len(spec) != 1 {
			return op, errCall
		}
		op.DB = spec[0]
		return op, nil
	}
	if len(spec) > 0 && op.Params.Decode(spec) != len(spec) {
		return op, errCall
	}
	return op, nil
}

// readOps appends the ops of a call to dst. Two or more ops form a group, and so do ops after a
// Needs, which belongs to the group.
func readOps(dst []engine.Op, c *engine.Call) ([]engine.Op, error) {
	first := len(dst)
	for args := c.Args[firstOp:]; len(args) > 0; args = args[opArgs:] {
		op, err := readOp(args[0])
		if err != nil {
			return dst, err
		}
		op.Key = args[1]
		dst = append(dst, op)
	}
	ops := dst[first:]
	if len(ops) > 1 {
		ops[0].Group = uint8(min(len(ops), 1<<8-1))
	}
	return dst, nil
}

// checkForm returns an error if a call from outside has not an id, a head, and up to most ops.
func checkForm(c *engine.Call, most int) error {
	n := len(c.Args) - firstOp
	if n < opArgs || n%opArgs != 0 || n > opArgs*most || !isKey(c.Args[idArg]) {
		return errCall
	}
	return nil
}

// check returns an error if the arguments of a call from outside are not from Wrap.
func check(c *engine.Call) error {
	if err := checkForm(c, engine.MaxGroupOps); err != nil {
		return err
	}
	head := c.Args[headArg]
	if len(head) < hashSize {
		return errCall
	}
	millis, size := binary.Uvarint(head[hashSize:])
	if size != len(head)-hashSize || millis < 1 || millis > maxMillis {
		return errCall
	}
	ops, err := readOps(nil, c)
	if err != nil {
		return err
	}
	return checkOps(ops)
}

// checkOps returns an error if ops can not be in a call.
func checkOps(ops []engine.Op) error {
	for i := range ops {
		if err := checkOp(&ops[i], i, len(ops)); err != nil {
			return err
		}
	}
	if len(ops) > 1 {
		return engine.CheckGroup(ops)
	}
	return nil
}

func isKey(key []byte) bool { return len(key) > 0 && len(key) <= engine.MaxKeyBytes }

// checkOp returns an error if op i of n ops can not be in a call.
func checkOp(op *engine.Op, i, n int) error {
	needs := op.Kind == engine.Needs
	switch op.Kind {
	case engine.Take, engine.Acquire, engine.Refund, engine.Charge, engine.Release, engine.Peek:
	case engine.Needs:
		if i > 0 || n == 1 {
			return errCall
		}
	default:
		return errCall
	}
	if needs != (len(op.Key) == 0) || len(op.Key) > engine.MaxKeyBytes {
		return errCall
	}
	if op.Params != (engine.Params{}) {
		if err := op.Params.Check(); err != nil {
			return err
		}
		if !op.Params.IsReduced() {
			return errCall
		}
	}
	if needs {
		return (&engine.Op{Kind: op.Kind, DB: op.DB, Mode: op.Mode}).Check(false)
	}
	if err := op.Check(false); err != nil {
		return err
	}
	if n > 1 {
		return op.CheckMember()
	}
	return op.CheckAlone()
}
