package persist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"limitsrv/engine"
)

// A Decoder reads entries. Its batch is reused, so it must be used with a single engine
// only. Concurrency: not safe for concurrent use.
type Decoder struct {
	// MaxOps bounds the ops of a batch; 0: no bound.
	MaxOps int
	// Commands checks the calls; nil: an entry with calls is rejected.
	Commands engine.Commands
	// Stated is called with the statement of an entry, before its batches; if it returns
	// an error, Decode does. nil: statements are skipped.
	Stated func(Effects) error

	batch  engine.Batch
	data   []byte // unread bytes
	flags  flags  // that the version of the entry has
	recent recentParams
}

var (
	errShort       = errors.New("it ends too early")
	errLong        = errors.New("a number of more than 64 bits")
	errCalls       = errors.New("a call, and there are no commands")
	errCallInGroup = errors.New("a call in a group")
	errGroup       = errors.New("a group of an older version has an op that is not a plain Take")
)

// Decode reads the bytes of an Entry and yields its batches in order, each with its
// stamp, until yield returns an error, which it returns. yield may Apply the batch. The
// batch belongs to the decoder and its keys and ids are parts of data: all are valid
// until yield returns.
//
// data may be any bytes. All yielded values are within the bounds of the engine; at the
// first value that is not, Decode returns an error that describes it, after yielding the
// batches before. If this program does not know the version of the entry, or the level of a
// batch, Decode returns a *NewerError.
//
// Cost: time linear in the length of data; memory of at most 100 times that length, kept
// for the next entry; no allocation in steady state.
func (d *Decoder) Decode(data []byte, yield func(stamp engine.Instant, b *engine.Batch) error) error {
	if len(data) == 0 {
		return errors.New("decode entry: it is empty")
	}
	if data[0] < entryLimits || data[0] > entryVersion {
		return &NewerError{What: "a log entry", Format: int(data[0]), Known: entryVersion}
	}
	d.data, d.recent, d.flags = data[1:], recentParams{}, flagsOf[data[0]]
	if err := d.statement(data[0]); err != nil {
		return err
	}
	var stamp engine.Instant
	for len(d.data) > 0 {
		at := len(data) - len(d.data)
		err := d.head(&stamp)
		if err == nil {
			err = d.ops()
		}
		if err != nil {
			return fmt.Errorf("decode entry: batch at byte %d, op %d: %w", at, len(d.batch.Ops), err)
		}
		if err := yield(stamp, &d.batch); err != nil {
			return err
		}
	}
	return nil
}

// statement reads the statement of an entry of a version, if it has a statement.
func (d *Decoder) statement(version byte) error {
	if version == entryLimits || len(d.data) == 0 || d.data[0] != opEffects {
		return nil
	}
	d.data = d.data[1:]
	index, err := d.uvarint()
	if err == nil && len(d.data) < 8 {
		err = errShort
	}
	if err != nil {
		return fmt.Errorf("decode entry: its statement: %w", err)
	}
	x := Effects{index, binary.LittleEndian.Uint64(d.data)}
	d.data = d.data[8:]
	if d.Stated == nil {
		return nil
	}
	return d.Stated(x)
}

// head reads the head of a batch and advances the stamp.
func (d *Decoder) head(stamp *engine.Instant) error {
	d.batch.Reset()
	first := d.data[0]
	if first&^d.flags.head != opHead {
		return fmt.Errorf("byte %#x is not the head of a batch", first)
	}
	d.batch.Atomic, d.batch.Full, d.batch.Tight = first&headAtomic != 0, first&headFull != 0, first&headTight != 0
	delta, n := binary.Varint(d.data[1:])
	if n <= 0 {
		return errShort
	}
	d.data = d.data[1+n:]
	if delta > 0 && int64(*stamp) > math.MaxInt64-delta || delta < 0 && int64(*stamp) < -delta || delta == math.MinInt64 {
		return fmt.Errorf("time %d plus %d ns is out of range", *stamp, delta)
	}
	*stamp += engine.Instant(delta)
	if first&headLevel == 0 {
		return nil
	}
	return d.level()
}

// level reads the level of a batch.
func (d *Decoder) level() (err error) {
	d.batch.Level, err = d.takeByte()
	switch {
	case err != nil:
		return err
	case d.batch.Level == 0:
		return errors.New("level 0")
	case d.Commands == nil:
		return errCalls
	case d.batch.Level > d.Commands.Level():
		return &NewerError{What: "a command in a log entry", Format: int(d.batch.Level), Known: int(d.Commands.Level())}
	}
	return nil
}

// ops reads the ops of a batch.
func (d *Decoder) ops() error {
	grouped := 0 // remaining ops of the current group
	first := 0   // index of its first op
	for len(d.data) > 0 && d.data[0]&kindBits != opHead {
		if d.MaxOps > 0 && len(d.batch.Ops) == d.MaxOps {
			return fmt.Errorf("a batch of more than %d ops", d.MaxOps)
		}
		if engine.Kind(d.data[0]&kindBits) == engine.Do {
			if grouped > 0 {
				return errCallInGroup
			}
			if err := d.call(); err != nil {
				return err
			}
			continue
		}
		var op engine.Op
		if err := d.op(&op); err != nil {
			return err
		}
		if !d.flags.adjusts && adjusts(&op) {
			op.Mode &^= engine.Fit | engine.Partial
		}
		if err := op.Check(d.batch.Atomic); err != nil {
			return err
		}
		if op.Group == 1 && op.Mode != 0 && !d.flags.members {
			op.Group = 0
		}
		if err := d.group(&op, &grouped); err != nil {
			return err
		}
		if op.IsGroup() {
			first = len(d.batch.Ops)
		}
		d.batch.Ops = append(d.batch.Ops, op)
		if n := len(d.batch.Ops) - first; grouped == 0 && n > 1 && n == int(d.batch.Ops[first].Group) {
			if err := engine.CheckGroup(d.batch.Ops[first:]); err != nil {
				return err
			}
		}
	}
	switch {
	case grouped > 0:
		return fmt.Errorf("a group lacks %d ops", grouped)
	case len(d.batch.Ops) == 0:
		return errors.New("a batch without ops")
	}
	return nil
}

// op reads an op. Requires: op is zero.
func (d *Decoder) op(op *engine.Op) (err error) {
	first := d.data[0]
	d.data = d.data[1:]
	op.Kind = engine.Kind(first & kindBits)
	if op.Kind > d.flags.lastKind {
		return fmt.Errorf("unknown kind of op %d", op.Kind)
	}
	var more byte
	if first&opMore != 0 {
		if more, err = d.takeByte(); err != nil {
			return err
		}
		if more == 0 || more&^d.flags.more != 0 {
			return fmt.Errorf("unknown flags %#x", more)
		}
	}
	op.Mode = engine.Mode(more & (modeBits | partBits))
	if more&moreGroup != 0 {
		if op.Group, err = d.takeByte(); err != nil {
			return err
		}
	}
	if more&moreDB != 0 {
		if op.DB, err = d.takeDB(); err != nil {
			return err
		}
	}
	if err = d.params(first&paramsBits, &op.Params); err != nil {
		return err
	}
	op.N = 1
	if first&opOne == 0 {
		n, err := d.uvarint()
		if err != nil {
			return err
		}
		op.N = int64(n)
	}
	if hasKey(op.Kind) {
		if op.Key, err = d.takeBytes("key", 1, engine.MaxKeyBytes); err != nil {
			return err
		}
	}
	if more&moreID != 0 {
		most := uint64(engine.MaxIDBytes)
		if op.Kind == engine.Learn {
			most = engine.MaxSourceBytes
		}
		op.ID, err = d.takeBytes("id", 1, most)
	}
	return err
}

// takeDB reads a database other than 0.
func (d *Decoder) takeDB() (db uint8, err error) {
	if db, err = d.takeByte(); err == nil && (db == 0 || db >= engine.Databases) {
		err = fmt.Errorf("database %d", db)
	}
	return db, err
}

// call reads a Do and adds it to the batch.
func (d *Decoder) call() (err error) {
	first, db := d.data[0], uint8(0)
	d.data = d.data[1:]
	switch {
	case d.batch.Level == 0:
		return errors.New("a call in a batch without a level")
	case first&^opMore != byte(engine.Do):
		return fmt.Errorf("byte %#x is not the start of a call", first)
	case first&opMore != 0:
		more, err := d.takeByte()
		if err == nil && more != moreDB {
			err = fmt.Errorf("unknown flags %#x", more)
		}
		if err == nil {
			db, err = d.takeDB()
		}
		if err != nil {
			return err
		}
	}
	command, err := d.uvarint()
	if err != nil {
		return err
	}
	micros, err := d.uvarint()
	if err != nil {
		return err
	}
	args, err := d.uvarint()
	switch {
	case err != nil:
		return err
	case command > math.MaxUint16:
		return fmt.Errorf("unknown command %d", command)
	case micros > engine.MaxMicros:
		return fmt.Errorf("a call %d microseconds after its batch", micros)
	case args > uint64(len(d.data)):
		return errShort
	}
	c := d.batch.AddCall(db)
	c.Command, c.Micros = uint16(command), uint32(micros)
	for range args {
		arg, err := d.takeBytes("argument", 0, math.MaxUint64)
		if err != nil {
			return err
		}
		c.Args = append(c.Args, arg)
	}
	return d.Commands.Check(c)
}

// params reads parameters encoded according to code.
func (d *Decoder) params(code byte, p *engine.Params) error {
	switch r := &d.recent; code {
	case paramsNone:
		return nil
	case paramsOther:
		r.last, r.other = r.other, r.last
	case paramsNew:
		var n engine.Params
		if err := d.newParams(&n); err != nil {
			return err
		}
		r.last, r.other = n, r.last
	}
	if d.recent.last == (engine.Params{}) {
		return errors.New("parameters refer to earlier ones, but there are none")
	}
	*p = d.recent.last
	return nil
}

func (d *Decoder) newParams(p *engine.Params) error {
	n := p.Decode(d.data)
	switch {
	case n == 0:
		return errShort
	case n < 0:
		return errLong
	}
	d.data = d.data[n:]
	switch err := p.Check(); {
	case p.Alg.IsKnown() && (err != nil || !p.IsReduced()):
		return fmt.Errorf("parameters out of range: %+v", *p)
	default:
		return err
	}
}

func (d *Decoder) takeByte() (byte, error) {
	if len(d.data) == 0 {
		return 0, errShort
	}
	b := d.data[0]
	d.data = d.data[1:]
	return b, nil
}

func (d *Decoder) uvarint() (uint64, error) {
	v, n := binary.Uvarint(d.data)
	switch {
	case n == 0:
		return 0, errShort
	case n < 0:
		return 0, errLong
	}
	d.data = d.data[n:]
	return v, nil
}

// takeBytes reads a length of least to most and that many bytes.
func (d *Decoder) takeBytes(what string, least, most uint64) ([]byte, error) {
	n, err := d.uvarint()
	switch {
	case err != nil:
		return nil, err
	case n < least || n > most:
		return nil, fmt.Errorf("%s of %d bytes, %d to %d are allowed", what, n, least, most)
	case n > uint64(len(d.data)):
		return nil, errShort
	}
	b := d.data[:n:n]
	d.data = d.data[n:]
	return b, nil
}
