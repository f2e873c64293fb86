package limiters

import (
	"fmt"

	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

// The commands that give back and charge.

var rlRefund = spec.Command{
	Name: "RL.REFUND", Args: "key n [AGE duration]" + onceArgs,
	Summary: "Returns n tokens, up to the limit: for work that was not done. AGE is the time since before they were " +
		"taken: " +
		"then only tokens of the window they were taken in are returned, and to a bucket only tokens that it has not " +
		"earned back since. " +
		"Without it they must have been taken in the current window, and just now from a bucket. allowed is 0 if nothing " +
		"could be returned. " +
		"nil if there is no such key, because it is full already.",
	Complexity: "O(1), for RL.LOG with AGE O(entries since)", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.Write | spec.Fast, Keys: keyAndID(3),
	Body: &spec.Ops{Parse: opRefund, Reply: replyDecision, Before: 3},
}

var rlCharge = spec.Command{
	Name: "RL.CHARGE", Args: "key n [alg p1 p2] [PARTIAL]" + onceArgs,
	Summary: "Takes n tokens unconditionally, even into debt: for the actual cost of work after it is done. remaining " +
		"is then 0 and wait_ms is the time until the debt is repaid. It takes as many as fit below a debt of one limit: " +
		"allowed is 1 if that is all of n, " +
		"else 0, with PARTIAL their number. alg p1 p2 are as in RL.ALL: the key is put under these parameters, and made if " +
		"it is missing. " +
		"Without them nil if there is no such key.",
	Complexity: "O(1)", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.Write | spec.DenyOOM | spec.Fast, Keys: keyAndID(3),
	Body: &spec.Ops{Parse: opCharge, Reply: replyDecision, Before: 3},
}

// adjusting parses the key and n of a command that refunds or charges. At level 1 of calls, and in
// a batch that nodes of an earlier version must read, the op has its meaning in that version.
func adjusting(b *engine.Batch, kind engine.Kind, args [][]byte) (op engine.Op, err error) {
	op = engine.Op{Kind: kind, Mode: engine.Fit, Key: args[1]}
	if b.Level == 1 || b.Lacks(engine.FitFeatures) {
		op.Mode = 0
	}
	if err = ParseKey(op.Key); err == nil {
		op.N, err = ParseN("n", args[2])
	}
	return op, err
}

func opRefund(b *engine.Batch, args [][]byte) error {
	op, err := adjusting(b, engine.Refund, args)
	if err != nil {
		return err
	}
	options := args[3:]
	var o once
	if options, err = o.cut(options, b.Level); err != nil {
		return err
	}
	if len(options) > 0 {
		if !word.Is(options[0], "AGE") || len(options) > 2 {
			at := 0
			if word.Is(options[0], "AGE") {
				at = 2
			}
			text := "syntax error, after n only AGE and a duration" + andOnce(b.Level) + " are allowed, got "
			return resp.NewError("ERR", text+word.Excerpt(options[at])+word.DidYouMean(options[at], "AGE"))
		}
		if len(options) == 1 {
			return NoValue(options[0])
		}
		nanos, err := ParseDuration("duration", options[1])
		if err != nil {
			return err
		}
		op.Mode = engine.Fit
		op.SetAge(nanos)
	}
	if b.Ops = append(b.Ops, op); o.id != nil {
		o.wrap(b, len(b.Ops)-1)
	}
	return nil
}

// chargeArgs is the number of arguments that give the limit of RL.CHARGE.
const chargeArgs = 3

func opCharge(b *engine.Batch, args [][]byte) error {
	op, err := adjusting(b, engine.Charge, args)
	if err != nil {
		return err
	}
	options := args[3:]
	var o once
	if options, err = o.cut(options, b.Level); err != nil {
		return err
	}
	if len(options) >= chargeArgs {
		if err = parseLimited(&op, options[0], options[1], options[2], b.Level); err != nil {
			return err
		}
		options = options[chargeArgs:]
	}
	if len(options) > 0 {
		if len(options) > 1 || !word.Is(options[0], "PARTIAL") {
			text := fmt.Sprintf("syntax error, after n only alg p1 p2, then PARTIAL%s are allowed, got %s",
				andOnce(b.Level), word.Excerpt(options[0]))
			return resp.NewError("ERR", text+word.DidYouMean(options[0], "PARTIAL"))
		}
		op.Mode = engine.Partial
	}
	if op.Params != (engine.Params{}) && op.Params.Limit == 0 {
		op.Kind, op.Mode = engine.Take, op.Mode&engine.Partial
		closeLimit(&op, op.N)
	}
	if b.Ops = append(b.Ops, op); o.id != nil {
		o.wrap(b, len(b.Ops)-1)
	}
	return nil
}
