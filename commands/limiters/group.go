package limiters

import (
	"fmt"
	"strings"

	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

// limitArgs is the number of arguments for each limit of RL.ALL.
const limitArgs = 5

var rlAll = spec.Command{
	Name: "RL.ALL", Args: "alg key p1 p2 n [alg key p1 p2 n ...]" + onceArgs,
	Summary: "Takes tokens from all of up to 64 limits, or from no limit, atomically: alg is " + anyOf(groupAlgs()) +
		", and " +
		"p1 p2 n are the arguments of its command. Returns [allowed, index of the binding limit, [five integers], ...]. " +
		"The binding " +
		"limit is the denying one with the longest wait, or, if all allow, the one with the least remaining.",
	Complexity: "O(limits), and that of each", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.Write | spec.DenyOOM | spec.Decides, Keys: spec.Keys{First: 2, Last: -1, Step: limitArgs},
	Body: &spec.Ops{Parse: opAll, Reply: replyAll},
}

func opAll(b *engine.Batch, args [][]byte) error {
	limits := args[1:]
	var o once
	if len(limits)%limitArgs != 0 {
		var err error
		if limits, err = o.cut(limits, b.Level); err != nil {
			return err
		}
	}
	if len(limits) == 0 || len(limits)%limitArgs != 0 || len(limits) > engine.MaxGroup*limitArgs {
		return resp.NewError("ERR", fmt.Sprintf(
			"RL.ALL takes 1 to %d limits of %d arguments each, alg key p1 p2 n, got %d arguments",
			engine.MaxGroup, limitArgs, len(args)-1))
	}
	before := len(b.Ops)
	for ; len(limits) > 0; limits = limits[limitArgs:] {
		op, err := parseGrouped(limits[:limitArgs], b.Level)
		if err != nil {
			index := len(b.Ops) - before
			b.Ops = b.Ops[:before]
			e := err.(*resp.Error)
			return resp.NewError(e.Code, e.Text+inLimit(index))
		}
		b.Ops = append(b.Ops, op)
	}
	closeGroup(b.Ops[before:])
	b.Ops[before].Group = uint8(len(b.Ops) - before)
	if o.id != nil {
		o.wrap(b, before)
	}
	return nil
}

// parseGrouped parses a limit: alg key p1 p2 n.
func parseGrouped(limit [][]byte, level uint8) (engine.Op, error) {
	op := engine.Op{Kind: engine.Take, Key: limit[1]}
	if err := parseAlg(&op.Params, limit[0]); err != nil {
		return engine.Op{}, err
	}
	err := ParseKey(op.Key)
	if err == nil {
		err = parseRest(&op.Params, limit[2], limit[3], level)
	}
	if err == nil {
		op.N, err = ParseN("n", limit[4])
	}
	if err == nil && op.Params.Limit == 0 {
		closeLimit(&op, op.N)
	}
	return op, err
}

// parseLimited parses the words alg p1 p2 into the parameters of an op.
func parseLimited(op *engine.Op, alg, first, second []byte, level uint8) error {
	if err := parseAlg(&op.Params, alg); err != nil {
		return err
	}
	return parseRest(&op.Params, first, second, level)
}

// parseAlg parses the name of an algorithm that counts permits.
func parseAlg(p *engine.Params, name []byte) error {
	alg, ok := engine.AlgByName(name)
	if !ok || !alg.IsCounted() {
		e := badArgument("alg", anyOf(groupAlgs()), name)
		e.Text += word.DidYouMean(name, groupAlgs()...)
		return e
	}
	p.Alg = alg
	return nil
}

// parseRest parses the two parameters p1 and p2 of the algorithm p.Alg.
func parseRest(p *engine.Params, first, second []byte, level uint8) error {
	usage := p.Alg.Usage()
	return parseParams(p, &usage, first, second, level)
}

// groupAlgs returns the names of the algorithms that RL.ALL accepts.
func groupAlgs() (names []string) {
	for alg := range engine.Algs() {
		if alg.IsCounted() {
			names = append(names, alg.String())
		}
	}
	return names
}

// anyOf returns at least two names as in "A, B or C".
func anyOf(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// inLimit is the suffix of an error about a limit of a group, counted from 1.
func inLimit(index int) string { return fmt.Sprintf(", in limit %d", index+1) }

func replyAll(w *resp.Writer, ops []engine.Op, ds []engine.Decision) {
	if replyFailed(w, ops, ds) {
		return
	}
	correctGroup(ops, ds)
	index, allowed := binding(ds)
	w.Array(2 + len(ds))
	w.Int(allowed)
	w.Int(int64(index))
	for i := range ds {
		decision(w, &ds[i])
	}
}

// binding returns the index of the limit that decides a group: the denying limit with the
// longest wait, or if no limit denies, the limit with the least remaining. Of equal limits
// it is the first. allowed is 1 if no limit denies.
func binding(ds []engine.Decision) (index int, allowed int64) {
	allowed = 1
	for i := range ds {
		d, bound := &ds[i], &ds[index]
		switch {
		case d.Allowed == 0 && allowed == 1:
			index, allowed = i, 0
		case d.Allowed == 0 && longer(d.Wait, bound.Wait):
			index = i
		case allowed == 1 && d.Remaining < bound.Remaining:
			index = i
		}
	}
	return index, allowed
}

// longer reports whether a is the longer wait; Never is the longest.
func longer(a, b engine.Span) bool {
	if a == engine.Never || b == engine.Never {
		return b != engine.Never
	}
	return a.Millis > b.Millis || a.Millis == b.Millis && a.Nanos > b.Nanos
}
