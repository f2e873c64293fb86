package limiters

import (
	"math"
	"math/bits"
	"strconv"

	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/engine"
)

// THROTTLE of throttlecrab-server 0.4.40. Its max_burst is the full capacity.

var throttle = spec.Command{
	Name: "THROTTLE", Args: "key max_burst count period [quantity]",
	Summary: "Takes quantity tokens from a bucket of max_burst that refills at count per period seconds; a quantity of " +
		"0 takes no tokens. " +
		"Returns [allowed, max_burst, remaining, reset_s, retry_s]; retry_s is -1 for a quantity above max_burst. " +
		"Compatible with throttlecrab.",
	Complexity: "O(1)", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.Write | spec.DenyOOM | spec.Fast | spec.Decides, Keys: spec.OneKey,
	Body: &spec.Ops{Parse: opThrottle, Reply: replyThrottle},
}

const checkFailed = "Rate limit check failed: "

var errThrottleParams = resp.NewError("ERR", checkFailed+"invalid rate limit parameters")

func opThrottle(b *engine.Batch, args [][]byte) error {
	if err := ParseKey(args[1]); err != nil {
		return err
	}
	numbers := [4]int64{3: 1}
	for i, arg := range args[2:] {
		var ok bool
		if numbers[i], ok = signedInteger(arg); !ok {
			return resp.NewError("ERR", "invalid "+throttleArgs[i])
		}
	}
	maxBurst, count, period, quantity := numbers[0], numbers[1], numbers[2], numbers[3]
	switch {
	case quantity < 0:
		return resp.NewError("ERR", checkFailed+"negative quantity: "+strconv.FormatInt(quantity, 10))
	case maxBurst <= 0 || count <= 0 || period <= 0:
		return errThrottleParams
	case maxBurst > engine.MaxLimit:
		return resp.NewError("ERR", errThrottleParams.Text+", max_burst must be at most "+strconv.Itoa(engine.MaxLimit))
	}
	interval := emissionInterval(period, count)
	if interval == 0 || interval > engine.MaxPeriod {
		return resp.NewError("ERR", errThrottleParams.Text+", period / count must be 1 nanosecond to 10 years")
	}
	b.Ops = append(b.Ops, bucketOp(args[1], maxBurst, interval, min(quantity, engine.MaxN)))
	return nil
}

// throttleArgs are the names of the integer arguments.
var throttleArgs = [...]string{"max_burst", "count_per_period", "period", "quantity"}

func replyThrottle(w *resp.Writer, ops []engine.Op, ds []engine.Decision) {
	if replyFailed(w, ops, ds) {
		return
	}
	d := &ds[0]
	retry := int64(0)
	if d.Allowed == 0 {
		retry = retrySeconds(d.Wait)
	}
	w.Array(5)
	w.Int(d.Allowed)
	w.Int(d.Params.Limit)
	w.Int(d.Remaining)
	w.Int(throttleReset(&ops[0].Params, d.Reset))
	w.Int(retry)
}

// throttleReset computes reset_s as throttlecrab does: the time until the bucket is full,
// plus the intervals of all but two of its tokens, truncated to seconds; but never less
// than the time until the bucket is full. A sum beyond 292 years, the original's range,
// is replaced by the latter.
func throttleReset(p *engine.Params, reset engine.Span) int64 {
	full := retrySeconds(reset)
	if p.Limit <= 2 {
		return full
	}
	high, beyond := bits.Mul64(uint64(p.Period), uint64(p.Limit-2))
	if high > 0 || beyond > math.MaxInt64/2 || reset.Millis > math.MaxInt64/2/1_000_000-1 {
		return full
	}
	return max(full, (reset.Millis*1e6+reset.Nanos+int64(beyond))/1e9)
}
