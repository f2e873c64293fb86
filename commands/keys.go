package commands

import (
	"strings"

	"limitsrv/commands/limiters"
	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

// eachKey makes the Op of a command with one op of the same kind for each key.
func eachKey(kind engine.Kind) func(*engine.Batch, [][]byte) error {
	return func(b *engine.Batch, args [][]byte) error {
		for _, key := range args[1:] {
			if err := limiters.ParseKey(key); err != nil {
				return err
			}
		}
		for _, key := range args[1:] {
			b.Ops = append(b.Ops, engine.Op{Kind: kind, Key: key})
		}
		return nil
	}
}

// replyCount answers the number of allowed ops.
func replyCount(w *resp.Writer, _ []engine.Op, ds []engine.Decision) {
	var n int64
	for i := range ds {
		n += ds[i].Allowed
	}
	w.Int(n)
}

// replyFound answers the number of existing keys.
func replyFound(w *resp.Writer, _ []engine.Op, ds []engine.Decision) {
	var n int64
	for i := range ds {
		if ds[i].Status == engine.OK {
			n++
		}
	}
	w.Int(n)
}

// long sets Long: the answer of c may be long with any number of words.
func long(c spec.Command) spec.Command {
	c.Long = 1
	return c
}

var del = spec.Command{
	Name: "DEL", Args: "key [key ...]", Summary: "Deletes keys and returns the number that existed.",
	Complexity: "O(1) for each key", Since: "1.0.0", Group: "generic", Flags: spec.Write | spec.Forgets,
	Keys: spec.ManyKeys,
	Body: &spec.Ops{Parse: eachKey(engine.Forget), Reply: replyCount},
}

var rlReset = spec.Command{
	Name: "RL.RESET", Args: "key [key ...]",
	Summary:    "Resets keys and returns the number that existed. Same as DEL.",
	Complexity: "O(keys)", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.Write | spec.Forgets, Keys: spec.ManyKeys,
	Body: &spec.Ops{Parse: eachKey(engine.Forget), Reply: replyCount},
}

var unlink = spec.Command{
	Name: "UNLINK", Args: "key [key ...]", Summary: "Deletes keys, as DEL does.",
	Complexity: "O(1) for each key", Since: "4.0.0", Group: "generic", Flags: spec.Write | spec.Fast | spec.Forgets,
	Keys: spec.ManyKeys,
	Body: &spec.Ops{Parse: eachKey(engine.Forget), Reply: replyCount},
}

var exists = spec.Command{
	Name: "EXISTS", Args: "key [key ...]", Summary: "Returns the number of keys that exist.",
	Complexity: "O(1) for each key", Since: "1.0.0", Group: "generic", Flags: spec.ReadOnly | spec.Fast,
	Keys: spec.ManyKeys,
	Body: &spec.Ops{Parse: eachKey(engine.Peek), Reply: replyFound},
}

var touch = spec.Command{
	Name: "TOUCH", Args: "key [key ...]", Summary: "Returns the number of keys that exist; changes nothing.",
	Complexity: "O(1) for each key", Since: "3.2.1", Group: "generic", Flags: spec.ReadOnly | spec.Fast,
	Keys: spec.ManyKeys,
	Body: &spec.Ops{Parse: eachKey(engine.Peek), Reply: replyFound},
}

var typeOf = spec.Command{
	Name: "TYPE", Args: "key",
	Summary:    "Returns string, hash, list, set or zset, the algorithm of a limit in lower case, or none.",
	Complexity: "O(1)", Since: "1.0.0", Group: "generic", Flags: spec.ReadOnly | spec.Fast, Keys: spec.OneKey,
	Body: &spec.Ops{Parse: eachKey(engine.Peek), Reply: func(w *resp.Writer, _ []engine.Op, ds []engine.Decision) {
		if ds[0].Status != engine.OK {
			w.Simple("none")
			return
		}
		w.Simple(typeName(ds[0].Params.Alg))
	}},
}

// typeName returns the name of an algorithm in TYPE and SCAN.
func typeName(a engine.Alg) string { return strings.ToLower(a.String()) }

var ttl = spec.Command{
	Name: "TTL", Args: "key", Summary: "Returns the seconds until a key expires, for a limit until it is fully reset, " +
		"rounded up; -1 if it does not expire, -2 if there is no such key.",
	Complexity: "O(1)", Since: "1.0.0", Group: "generic", Flags: spec.ReadOnly | spec.Fast, Keys: spec.OneKey,
	Body: &spec.Ops{Parse: eachKey(engine.Peek), Reply: func(w *resp.Writer, _ []engine.Op, ds []engine.Decision) {
		millis := untilReset(ds[0])
		switch {
		case millis <= 0:
			w.Int(millis)
		case ds[0].Params.Alg.IsPlain(): // to the nearest second, as Redis
			w.Int((millis + 500) / 1000)
		default:
			w.Int((millis-1)/1000 + 1)
		}
	}},
}

var pttl = spec.Command{
	Name: "PTTL", Args: "key", Summary: "Returns the milliseconds until a key expires, for a limit until it is fully " +
		"reset, rounded up; -1 if it does not expire, -2 if there is no such key.",
	Complexity: "O(1)", Since: "2.6.0", Group: "generic", Flags: spec.ReadOnly | spec.Fast, Keys: spec.OneKey,
	Body: &spec.Ops{Parse: eachKey(engine.Peek),
		Reply: func(w *resp.Writer, _ []engine.Op, ds []engine.Decision) { w.Int(untilReset(ds[0])) }},
}

// untilReset is in milliseconds; -1 if the key does not expire, -2 if there is no key. A
// plain value lives in the millisecond of its expiry, which does not count.
func untilReset(d engine.Decision) int64 {
	if d.Status != engine.OK {
		return -2
	}
	millis := d.Reset.CeilMillis()
	if d.Params.Alg.IsPlain() && millis > 0 {
		millis--
	}
	return millis
}

var flushAll = spec.Command{
	Surplus: always(errSyntax), Name: "FLUSHALL", Args: "[ASYNC|SYNC]", Summary: "Deletes every key of all databases.",
	Complexity: "O(N), N being the keys", Since: "1.0.0", Group: "server", Flags: spec.Write | spec.Forgets | spec.AllKeys,
	Body: &spec.Ops{Parse: flushOp(engine.FlushAll()), Reply: replyOK},
}

var flushDB = spec.Command{
	Surplus: always(errSyntax), Name: "FLUSHDB", Args: "[ASYNC|SYNC]",
	Summary:    "Deletes every key of the selected database.",
	Complexity: "O(N), N being the keys", Since: "1.0.0", Group: "server", Flags: spec.Write | spec.Forgets | spec.AllKeys,
	Body: &spec.Ops{Parse: flushOp(engine.FlushOf(0)), Reply: replyOK},
}

// flushOp makes the Op of a Flush.
func flushOp(flush engine.Op) func(*engine.Batch, [][]byte) error {
	return func(b *engine.Batch, args [][]byte) error {
		if len(args) == 2 && !word.Is(args[1], "ASYNC") && !word.Is(args[1], "SYNC") {
			return errSyntax
		}
		b.Ops = append(b.Ops, flush)
		return nil
	}
}

func replyOK(w *resp.Writer, _ []engine.Op, _ []engine.Decision) { w.OK() }
