package limiters

import (
	"fmt"

	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

// CL.THROTTLE of redis-cell 0.5.0, and RL.THROTTLE, its name in Valkey.

const (
	cellArgs    = "key max_burst count period [quantity]"
	cellSummary = "Takes quantity tokens from a bucket of max_burst + 1 that refills at count per period seconds. " +
		"Returns [limited, max_burst + 1, remaining, retry_s or -1, reset_s]. " +
		"A quantity of 0 takes no tokens, a quantity below 0 returns tokens."
)

var clThrottle = spec.Command{
	Name: "CL.THROTTLE", Args: cellArgs, Summary: cellSummary + " Compatible with redis-cell.",
	Complexity: "O(1)", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.Write | spec.DenyOOM | spec.Fast | spec.OwnArity | spec.Decides, Keys: spec.OneKey,
	Body: &spec.Ops{Parse: opCell("cl.throttle"), Reply: replyCell},
}

var rlThrottle = spec.Command{
	Name: "RL.THROTTLE", Args: cellArgs, Summary: cellSummary + " Same as CL.THROTTLE.",
	Complexity: "O(1)", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.Write | spec.DenyOOM | spec.Fast | spec.OwnArity | spec.Decides, Keys: spec.OneKey,
	Body: &spec.Ops{Parse: opCell("rl.throttle"), Reply: replyCell},
}

// opCell appends a Take, always as the last of its ops. If quantity is below 0, a Refund
// precedes it and the Take is of 0 tokens.
func opCell(name string) func(*engine.Batch, [][]byte) error {
	return func(b *engine.Batch, args [][]byte) error {
		if len(args) != 5 && len(args) != 6 {
			return cellError("Usage: " + name + " <key> <max_burst> <count per period> <period> [<quantity>]")
		}
		// max_burst, count, period, quantity
		numbers := [4]int64{3: 1}
		for i, arg := range args[2:] {
			var ok bool
			if numbers[i], ok = signedInteger(arg); !ok {
				return cellError("Couldn't parse as integer: " + word.Unquoted(arg))
			}
		}
		interval, err := cellInterval(args, numbers[0], numbers[1], numbers[2])
		if err != nil {
			return err
		}
		n := max(-engine.MaxN, min(numbers[3], engine.MaxN))
		op := bucketOp(args[1], numbers[0]+1, interval, max(n, 0))
		if n < 0 {
			b.Ops = append(b.Ops, engine.Op{Kind: engine.Refund, Params: op.Params, Key: args[1], N: -n})
		}
		b.Ops = append(b.Ops, op)
		return nil
	}
}

// cellInterval checks the key and the parameters, and returns the emission interval.
func cellInterval(args [][]byte, maxBurst, count, period int64) (int64, error) {
	if err := ParseKey(args[1]); err != nil {
		return 0, cellError(err.(*resp.Error).Text)
	}
	switch {
	case maxBurst < 0 || maxBurst >= engine.MaxLimit:
		return 0, cellBound("max_burst", 0, engine.MaxLimit-1, args[2])
	case count == 0 || period == 0:
		return 0, errZeroRate
	case count < 0:
		return 0, cellError("count must be above 0, got " + word.Excerpt(args[3]))
	case period < 0:
		return 0, cellError("period must be above 0, got " + word.Excerpt(args[4]))
	}
	interval := emissionInterval(period, count)
	switch {
	case interval == 0:
		return 0, errZeroRate
	case interval > engine.MaxPeriod:
		return 0, cellError("period / count must be at most 10 years, got " + word.Excerpt(args[4]) + " / " +
			word.Excerpt(args[3]))
	}
	return interval, nil
}

var errZeroRate = cellError("Zero rates are not supported")

// cellError is an error in redis-cell's form, which has no code word of Redis.
func cellError(text string) *resp.Error { return resp.NewError("Cell", "error: Store error: "+text) }

func cellBound(name string, least, most int64, given []byte) error {
	return cellError(fmt.Sprintf("%s must be from %d to %d, got %s", name, least, most, word.Excerpt(given)))
}

func replyCell(w *resp.Writer, ops []engine.Op, ds []engine.Decision) {
	ops, ds = ops[len(ops)-1:], ds[len(ds)-1:]
	if !replyFailed(w, ops, ds) {
		replyLimited(w, &ds[0], cellSeconds(ds[0].Reset))
	}
}

// replyLimited writes the reply of redis-cell and GCRA: limited, limit, remaining, retry
// or -1, reset.
func replyLimited(w *resp.Writer, d *engine.Decision, reset int64) {
	retry := int64(-1)
	if d.Allowed == 0 {
		retry = retrySeconds(d.Wait)
	}
	w.Array(5)
	w.Int(1 - d.Allowed)
	w.Int(d.Params.Limit)
	w.Int(d.Remaining)
	w.Int(retry)
	w.Int(reset)
}

// cellSeconds rounds a span up to seconds as redis-cell does: fractions of a millisecond
// do not count.
func cellSeconds(s engine.Span) int64 {
	return retrySeconds(engine.Span{Millis: s.Millis})
}
