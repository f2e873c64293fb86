package limiters

import (
	"time"

	"limitsrv/commands/resp"
	"limitsrv/engine"
)

// A block of a key is a penalty box in its place, which one strike closes. A request for the key
// then finds another algorithm. Until the box is gone, denyBlocked makes the reply a denial.

// BlockEnd is the part of a block after its box has opened, until the box has forgotten the strike:
// the least that the engine allows.
const BlockEnd = int64(time.Second)

// minBlock is the least length of a block, in nanoseconds.
const minBlock = BlockEnd + int64(time.Second)

// blockParams returns the parameters of the box of a block.
func blockParams(nanos int64) engine.Params {
	p := engine.Penalty{After: 1, Within: int64(time.Second), Block: nanos - BlockEnd, Max: nanos - BlockEnd,
		Forgive: BlockEnd, Growth: 100}
	return p.Params()
}

// AppendBlock appends the ops that block a key for a time, up to engine.MaxPeriod. It is rounded up
// to whole seconds, and to minBlock. The key is forgotten, and a group that is denied strikes the
// box. other is the key of the group's limit, which changes nothing.
func AppendBlock(b *engine.Batch, key []byte, nanos int64, other []byte) {
	nanos = max(minBlock, (nanos+int64(time.Second)-1)/int64(time.Second)*int64(time.Second))
	b.Ops = append(b.Ops,
		engine.Op{Kind: engine.Forget, Key: key},
		engine.Op{Kind: engine.Take, Mode: engine.Guard, Key: key, Params: blockParams(nanos), N: 1, Group: 2},
		engine.Op{Kind: engine.Take, Key: other, Params: engine.Params{Alg: engine.Fixed, Limit: 1, Period: engine.MinPeriod},
			N: 2},
	)
}

// ReplyBlock writes the reply to the ops of AppendBlock.
func ReplyBlock(w *resp.Writer, _ []engine.Op, ds []engine.Decision) {
	if err := BlockFailed(ds); err != nil {
		w.Error(err)
		return
	}
	w.OK()
}

// BlockFailed returns the error for a client if the decisions on the ops of AppendBlock did not block
// the key, otherwise nil.
func BlockFailed(ds []engine.Decision) error {
	err := Failed(ds[1:])
	if err == nil && ds[1].Wait == (engine.Span{}) { // no memory for a strike
		err = errNoMemory
	}
	return err
}

// IsBlock reports whether a box with these parameters is a block.
func IsBlock(p *engine.Params) bool {
	return p.Alg == engine.Box && *p == blockParams(p.Penalty().Block+BlockEnd)
}

// denyBlocked turns the decisions on requests for a blocked key, which have the status WrongType,
// into denials that end with the block. It reports whether it did. A group is denied as a whole, and
// tells nothing of its other limits.
func denyBlocked(ops []engine.Op, ds []engine.Decision) bool {
	blocked := false
	for i := range ds {
		blocked = blocked || ds[i].Status == engine.WrongType && IsBlock(&ds[i].Params)
	}
	if !blocked || len(ops) != len(ds) || ops[0].Kind != engine.Take && ops[0].Kind != engine.Acquire {
		return false
	}
	for i := range ds {
		d, op := &ds[i], &ops[i]
		wait := engine.Span{}
		if IsBlock(&d.Params) {
			wait = d.Reset
		}
		*d = engine.Decision{Params: op.Params, Wait: wait, Reset: wait}
		switch {
		case wait == engine.Span{}:
			d.Allowed, d.Remaining = 1, op.Params.Limit
		case op.N == 0 && op.Mode&engine.Partial == 0:
			d.Allowed = 1
		case op.Mode&engine.Shadow != 0 && op.Mode&engine.Partial != 0:
			d.Allowed = op.N
		case op.Mode&engine.Shadow != 0:
			d.Allowed = 1
		}
	}
	return true
}

// hideBlocks makes decisions on blocked keys equal to decisions on any other penalty box.
func hideBlocks(ds []engine.Decision) {
	for i := range ds {
		if IsBlock(&ds[i].Params) {
			ds[i].Params = engine.Params{Alg: engine.Box}
		}
	}
}
