package limiters

import (
	"errors"
	"fmt"
	"slices"

	"limitsrv/commands/reservations"
	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

// The commands that take permits, and RL.PEEK.

// takeCommands returns the commands that take permits: a command for each algorithm with
// permits that are numbers.
func takeCommands() (all []spec.Command) {
	for alg := range engine.Algs() {
		if u := alg.Usage(); alg.IsCounted() {
			all = append(all, spec.Command{
				Name: "RL." + alg.String(), Args: fmt.Sprintf("key %s %v [n] [PARTIAL] [SHADOW]"+onceArgs, u.Limit, u.Period),
				Summary: u.Summary, Complexity: u.Complexity, Since: u.Since, Group: spec.LimiterGroup,
				Flags: spec.Write | spec.DenyOOM | spec.Fast | spec.Decides, Keys: keyAndID(4),
				Body: &spec.Ops{Parse: take(alg), Reply: replyDecision},
			})
		}
	}
	return all
}

var rlPeek = spec.Command{
	Name: "RL.PEEK", Args: "key",
	Summary: "Returns the state of a key under the parameters of its last use, and changes nothing: " +
		"[algorithm, limit, remaining, wait_ms for one token, reset_ms], or nil for a key that does not exist or is fully " +
		"reset.",
	Complexity: "O(1)", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.ReadOnly | spec.Fast, Keys: spec.OneKey,
	Body: &spec.Ops{Parse: opPeek, Reply: replyPeek},
}

// take makes the Op of the decision commands: key, two parameters, n, options.
func take(alg engine.Alg) func(*engine.Batch, [][]byte) error {
	usage := alg.Usage()
	return func(b *engine.Batch, args [][]byte) error {
		op := engine.Op{Kind: engine.Take, Params: engine.Params{Alg: alg}, N: 1, Key: args[1]}
		err := ParseKey(op.Key)
		if err == nil {
			err = parseParams(&op.Params, &usage, args[2], args[3], b.Level)
		}
		if err != nil {
			return err
		}
		options := args[4:]
		var n []byte
		if len(options) > 0 && !IsOption(options[0]) {
			n = options[0]
			if op.N, err = ParseN("n", n); err != nil {
				return err
			}
			options = options[1:]
		}
		var o once
		if len(options) > 0 {
			if options, err = o.cut(options, b.Level); err == nil {
				op.Mode, err = parseOptions(options, engine.Partial|engine.Shadow, b.Level)
			}
			if err != nil {
				return err
			}
		}
		if op.Params.Limit == 0 || op.N == engine.MaxN {
			settleExtremes(&op, n, b.Level)
		}
		if b.Ops = append(b.Ops, op); o.id != nil {
			o.wrap(b, len(b.Ops)-1)
		}
		return nil
	}
}

// parseParams parses the two parameters of an algorithm, for a batch of this level. usage describes
// them.
func parseParams(p *engine.Params, usage *engine.Usage, first, second []byte, level uint8) (err error) {
	if p.Limit, err = parseLimit(usage.Limit, first, leastLimit(level), usage.MaxLimit); err != nil {
		return err
	}
	switch usage.Period {
	case engine.Rate:
		p.Count, p.Period, err = parseRate(second)
	case engine.CalendarWindow:
		p.Calendar, p.Period, err = ParseWindow(second)
	case engine.Window, engine.TTL:
		p.Period, err = ParseDuration(usage.Period.String(), second)
	}
	return err
}

// IsOption reports whether arg, in the place of n, is an option.
func IsOption(arg []byte) bool {
	return len(arg) > 0 && arg[0]|0x20 >= 'a' && arg[0]|0x20 <= 'z'
}

// parseOptions parses options of a batch of a level; each must be in allowed and occur once.
func parseOptions(args [][]byte, allowed engine.Mode, level uint8) (mode engine.Mode, err error) {
	for _, arg := range args {
		var option engine.Mode
		switch {
		case word.Is(arg, "PARTIAL"):
			option = engine.Partial
		case word.Is(arg, "SHADOW"):
			option = engine.Shadow
		}
		if option&allowed&^mode == 0 {
			return 0, badOption(allowed, arg, level)
		}
		mode |= option
	}
	return mode, nil
}

// badOption is the error for an option that is not allowed; it lists those that are.
func badOption(allowed engine.Mode, given []byte, level uint8) error {
	text, options := "syntax error, after id only SHADOW is allowed, once", []string{"SHADOW"}
	if allowed&engine.Partial != 0 {
		text = "syntax error, after the parameters only n, then PARTIAL and SHADOW, each once in any order, are allowed"
		options = append(options, "PARTIAL")
		if hasOnce(level) {
			text += ", and at the end" + onceForm
			options = append(options, wordOnce)
		}
	}
	text += ", got " + word.Excerpt(given)
	if slices.ContainsFunc(options, func(w string) bool { return word.Is(given, w) }) { // a repeated option
		return resp.NewError("ERR", text)
	}
	return resp.NewError("ERR", text+word.DidYouMean(given, options...))
}

func opPeek(b *engine.Batch, args [][]byte) error {
	if err := ParseKey(args[1]); err != nil {
		return err
	}
	b.Ops = append(b.Ops, engine.Op{Kind: engine.Peek, Key: args[1]})
	return nil
}

var errNoMemory = resp.NewError("OOM", reservations.NoMemory)

// replyFailed writes the error or the null for ops that were not decided, and reports
// whether it did. Requests for a blocked key are denied. ops is nil if they can't be.
func replyFailed(w *resp.Writer, ops []engine.Op, ds []engine.Decision) bool {
	err := Failed(ds)
	switch {
	case err == nil || denyBlocked(ops, ds):
		return false
	case err == errMissing:
		w.NullArray()
	default:
		w.Error(err)
	}
	return true
}

// errMissing stands for the null reply to an op on a key that does not exist.
var errMissing = errors.New("the key does not exist")

// Failed returns the error for a client if one of the decisions was not made, nil
// otherwise. Requires: no decision has the status Aborted or Down.
func Failed(ds []engine.Decision) error {
	for i := range ds {
		switch ds[i].Status {
		case engine.OK:
			continue
		case engine.Missing:
			return errMissing
		case engine.WrongType:
			return wrongType(ds)
		case engine.NoMemory:
			return errNoMemory
		}
		return fmt.Errorf("unexpected decision status %d", ds[i].Status)
	}
	return nil
}

// wrongType is the error for ops with a key of another algorithm.
func wrongType(ds []engine.Decision) error {
	text := "Operation against a key holding the wrong kind of value"
	for i := range ds {
		p, free := &ds[i].Params, ds[i].Reset.CeilMillis()
		switch {
		case *p == engine.Params{}:
			continue
		case free == 0: // no such key, but an earlier limit of the same RL.ALL uses it
			text += fmt.Sprintf(": an earlier limit uses it with %v", p.Alg)
		case free < 0:
			text += fmt.Sprintf(": it is in use by %v, and does not expire", p.Alg)
		default:
			text += fmt.Sprintf(": it is in use by %v, and expires in %d ms", p.Alg, free)
		}
		if len(ds) > 1 {
			text += inLimit(i)
		}
	}
	return resp.NewError("WRONGTYPE", text)
}

// replyDecision answers an op with the five integers of a decision.
func replyDecision(w *resp.Writer, ops []engine.Op, ds []engine.Decision) {
	if !replyFailed(w, ops, ds) {
		correct(&ops[0], &ds[0])
		decision(w, &ds[0])
	}
}

// decision writes allowed, limit, remaining, wait_ms and reset_ms.
func decision(w *resp.Writer, d *engine.Decision) {
	w.Array(5)
	w.Int(d.Allowed)
	w.Int(d.Params.Limit)
	w.Int(d.Remaining)
	w.Int(d.Wait.CeilMillis())
	w.Int(d.Reset.CeilMillis())
}

func replyPeek(w *resp.Writer, _ []engine.Op, ds []engine.Decision) {
	if replyFailed(w, nil, ds) {
		return
	}
	d := &ds[0]
	if d.Params.Alg.IsPlain() {
		w.Error(wrongType(ds))
		return
	}
	w.Array(5)
	w.BulkString(d.Params.Alg.String())
	w.Int(d.Params.Limit)
	w.Int(d.Remaining)
	w.Int(d.Wait.CeilMillis())
	w.Int(d.Reset.CeilMillis())
}
