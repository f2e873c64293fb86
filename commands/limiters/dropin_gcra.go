package limiters

import (
	"math"
	"strconv"

	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

// GCRA of the milestone releases of Redis 8.8.

var gcra = spec.Command{
	Name: "GCRA", Args: "key max_burst tokens_per_period period [TOKENS count]",
	Summary: "Takes count tokens from a bucket of max_burst + 1 that refills at tokens_per_period per period seconds. " +
		"Returns [limited, max_burst + 1, remaining, retry_s or -1, reset_s]. Compatible with the milestone releases of " +
		"Redis 8.8.",
	Complexity: "O(1)", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.Write | spec.DenyOOM | spec.Fast | spec.Decides, Keys: spec.OneKey,
	Body: &spec.Ops{Parse: opGCRA, Reply: replyGCRA},
}

var (
	errNotInt      = resp.NewError("ERR", "value is not an integer or out of range")
	errSyntax      = resp.NewError("ERR", "syntax error")
	errNotPositive = resp.NewError("ERR", "value is out of range, must be positive")
	errNotOneUp    = resp.NewError("ERR", "value is out of range, value must between 1 and 9223372036854775807")
	errNotFloat    = resp.NewError("ERR", "value is not a valid float")
	errPeriod      = resp.NewError("ERR", "period must be > 0 and < 1e12")
	errNoTokens    = resp.NewError("ERR", "Missing TOKENS value")
	errTokensOver  = resp.NewError("ERR", "GCRA limiting uses microsecond accuracy. Combination of period, "+
		"tokens_per_period and TOKENS would cause an overflow")
	errBurstOver = resp.NewError("ERR", "GCRA limiting uses microsecond accuracy. Combination of period, "+
		"tokens_per_period and max_burst would cause an overflow")
)

func opGCRA(b *engine.Batch, args [][]byte) error {
	if err := ParseKey(args[1]); err != nil {
		return err
	}
	maxBurst, ok := redisInteger(args[2])
	if !ok || maxBurst < 0 {
		return errNotPositive
	}
	perPeriod, err := positiveInteger(args[3])
	if err != nil {
		return err
	}
	period, err := seconds(args[4])
	if err != nil {
		return err
	}
	n, err := gcraTokens(args[5:])
	if err != nil {
		return err
	}
	if maxBurst < math.MaxInt64 {
		maxBurst++
	}
	micros := max(1, int64(float64(period*1e6)/float64(perPeriod)+0.5))
	switch {
	case micros > math.MaxInt64/n:
		return errTokensOver
	case micros > math.MaxInt64/maxBurst:
		return errBurstOver
	case maxBurst > engine.MaxLimit:
		return BadWhole("max_burst", 0, engine.MaxLimit-1, args[2])
	case micros > engine.MaxPeriod/1e3:
		return badArgument("period", "at most 10 years for each of tokens_per_period", args[4])
	}
	b.Ops = append(b.Ops, bucketOp(args[1], maxBurst, micros*1e3, min(n, engine.MaxN)))
	return nil
}

// gcraTokens parses the arguments after the period: TOKENS and a count.
func gcraTokens(args [][]byte) (int64, error) {
	switch {
	case len(args) == 0:
		return 1, nil
	case !word.Is(args[0], "TOKENS"):
		return 0, errSyntax
	case len(args) == 1:
		return 0, errNoTokens
	}
	return positiveInteger(args[1])
}

// positiveInteger parses an integer of 1 or more.
func positiveInteger(arg []byte) (int64, error) {
	n, ok := redisInteger(arg)
	if !ok {
		return 0, errNotInt
	}
	if n < 1 {
		return 0, errNotOneUp
	}
	return n, nil
}

// redisInteger parses an int64 as Redis does: without plus sign or leading zeros.
func redisInteger(arg []byte) (int64, bool) {
	if len(arg) > 0 && arg[0] == '-' {
		if string(arg) == "-9223372036854775808" {
			return math.MinInt64, true
		}
		n, ok := ParseWhole(arg[1:])
		return -n, ok && n > 0
	}
	return ParseWhole(arg)
}

// seconds parses the period, which may have a fraction and an exponent.
func seconds(arg []byte) (float64, error) {
	for _, c := range arg {
		if c == '_' || c|0x20 == 'x' {
			return 0, errNotFloat
		}
	}
	period, err := strconv.ParseFloat(string(arg), 64)
	if err != nil || math.IsNaN(period) || arg[0] == '+' {
		return 0, errNotFloat
	}
	if period <= 0 || period >= 1e12 {
		return 0, errPeriod
	}
	return period, nil
}

func replyGCRA(w *resp.Writer, ops []engine.Op, ds []engine.Decision) {
	if !replyFailed(w, ops, ds) {
		replyLimited(w, &ds[0], retrySeconds(ds[0].Reset))
	}
}
