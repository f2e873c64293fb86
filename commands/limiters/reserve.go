package limiters

import (
	"encoding/binary"
	"fmt"
	"slices"

	"limitsrv/commands/reservations"
	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/commands/weighing"
	"limitsrv/commands/word"
	"limitsrv/engine"
	"limitsrv/engine/siphash"
)

// The commands on reservations. Scripts do not have them.

// Reserve is RL.RESERVE.
var Reserve = spec.Command{
	Name: "RL.RESERVE", Args: "id ttl [KEEP k|ALL] [PARTIAL] alg key p1 p2 n [alg key p1 p2 n ...]",
	Summary: "Takes tokens from all of 1 to 64 limits, or takes nothing. Holds the tokens under an id for ttl. " +
		"RL.COMMIT then says how many were used, and the rest is given back as if it had never been taken. If no " +
		"RL.COMMIT arrives in ttl, all tokens except KEEP are given back. Set KEEP to the cost of work that is due even " +
		"if the client dies. =n takes a fixed number, for limits that count requests; only RL.CANCEL gives these tokens " +
		"back. PARTIAL reserves the tokens that are left. Returns the same as RL.ALL; with PARTIAL the first number is " +
		"the tokens granted. Sent again it takes nothing; after a cancel or the end of ttl it answers BUSYKEY.",
	Complexity: "O(limits), and that of each", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.Write | spec.DenyOOM | spec.Decides | spec.NoScript,
	Keys:  spec.Keys{First: reserveWords + 1, Last: -1, Step: limitArgs, Lead: 1},
	Body:  &spec.Ops{Parse: opReserve, Reply: replyReserve},
}

// Extend is RL.EXTEND.
var Extend = spec.Command{
	Name: "RL.EXTEND", Args: "id ttl [BY n] [KEEP k|ALL]",
	Summary: "Lets a reservation end ttl from now. BY takes n more tokens from each limit without =: if a limit has " +
		"not as many, nothing changes. BY takes n each time it is applied: do not repeat it after a timeout. KEEP sets " +
		"the tokens that stay taken if nobody settles the reservation. Returns [done, state, tokens reserved, wait_ms], " +
		"or nil for an unknown id.",
	Complexity: "O(limits), and O(reservations) of each", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.Write | spec.DenyOOM | spec.NoScript, Keys: spec.OneKey, Body: &spec.Ops{Parse: opExtend},
}

// Commit is RL.COMMIT.
var Commit = spec.Command{
	Name: "RL.COMMIT", Args: "id <actual [actual ...] | amount=n [amount=n ...]>",
	Summary: "Settles a reservation: actual tokens were used, of each limit without =, or a number for each limit. " +
		"amount=n is a named amount that was used, after RL.CHECK ... HITS amount=n ... RESERVE: each limit has the " +
		"weights that it had then. The rest is given back as if it had never been taken. More than was reserved is " +
		"charged now. Returns [done, state, actual, 0], or nil for an unknown id: the first settlement of an id holds, " +
		"and may be repeated for five minutes.",
	Complexity: "O(limits), and O(reservations) of each", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.Write | spec.NoScript, Keys: spec.OneKey, Body: &spec.Ops{Parse: opCommit},
}

// Cancel is RL.CANCEL.
var Cancel = spec.Command{
	Name: "RL.CANCEL", Args: "id",
	Summary: "Gives all of a reservation back as if nothing had been taken, also tokens reserved with =n. Returns " +
		"[done, state, tokens that stay taken, 0], or nil for an unknown id.",
	Complexity: "O(limits), and O(reservations) of each", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.Write | spec.NoScript, Keys: spec.OneKey, Body: &spec.Ops{Parse: opCancel},
}

// Reserved is RL.RESERVED.
var Reserved = spec.Command{
	Name: "RL.RESERVED", Args: "<id | KEY key [CURSOR cursor] [COUNT count]>",
	Summary: "Returns a reservation as a map: state, n, keep, age_ms, ttl_ms, remembered_ms, and of each limit its key, " +
		"algorithm and tokens. nil for an unknown id. With KEY it returns the open reservations of a limit, the newest " +
		"first: [cursor, [[id, n, keep, age_ms, ttl_ms], ...]], with a row for each RL.RESERVE and each RL.EXTEND BY, and " +
		"at most count rows, 10 without COUNT. CURSOR continues there, until the cursor is 0. A key or an id that " +
		"matches no pattern of the user is nil.",
	Complexity: "O(limits), or O(count)", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.ReadOnly | spec.NoScript, Keys: spec.Keys{First: 1, Last: 1, Step: 1, Word: wordKey},
	Body: &spec.Ops{Parse: opReserved, Hide: reservations.Hide},
}

// reserveWords is the number of words of RL.RESERVE before its options.
const reserveWords = 3

func opReserve(b *engine.Batch, args [][]byte) error {
	rest := args[reserveWords:]
	limits := rest[len(rest)%limitArgs:]
	id, t, err := ParseReserve(args[:len(args)-len(limits)])
	if err != nil {
		return err
	}
	if len(limits) > engine.MaxGroup*limitArgs {
		return resp.NewError("ERR", fmt.Sprintf("RL.RESERVE takes 1 to %d limits, got %d", engine.MaxGroup,
			len(limits)/limitArgs))
	}
	before := len(b.Ops)
	for i := 0; len(limits) > 0; i, limits = i+1, limits[limitArgs:] {
		op, fixed, err := parseReserved(limits[:limitArgs])
		if err == nil && slices.ContainsFunc(b.Ops[before:], func(other engine.Op) bool {
			return string(other.Key) == string(op.Key)
		}) {
			err = resp.NewError("ERR", "key "+word.Excerpt(op.Key)+" occurs in two limits")
		}
		if err != nil {
			b.Ops = b.Ops[:before]
			e := err.(*resp.Error)
			return resp.NewError(e.Code, e.Text+inLimit(i))
		}
		if fixed {
			t.Fixed |= 1 << i
		}
		b.Ops = append(b.Ops, op)
	}
	t.Request = hashOf(b.Ops[before:], t.Fixed)
	reservations.Reserve(b, before, id, t)
	return nil
}

// ParseReserve parses the words RESERVE id ttl [KEEP k|ALL] [PARTIAL], see spec.ReserveAt, or the same words
// of RL.RESERVE, into the id and the terms.
func ParseReserve(words [][]byte) (id []byte, t reservations.Terms, err error) {
	id = words[1]
	if err = ParseID(id); err == nil {
		t.TTL, err = ParseDuration("ttl", words[2])
	}
	if err == nil {
		err = parseTerms(&t, words[3:])
	}
	return id, t, err
}

// parseTerms parses the options KEEP and PARTIAL.
func parseTerms(t *reservations.Terms, options [][]byte) error {
	for given := options; len(given) > 0; {
		switch {
		case word.Is(given[0], "PARTIAL") && !t.Partial:
			t.Partial, given = true, given[1:]
		case word.Is(given[0], "KEEP") && len(given) > 1:
			keep, err := parseKeep(given[1])
			if err != nil {
				return err
			}
			t.Keep, given = keep, given[2:]
		default:
			return resp.NewError("ERR", fmt.Sprintf("syntax error, after ttl only KEEP k, PARTIAL, and limits of %d arguments "+
				"each, alg key p1 p2 n, are allowed, got %s", limitArgs, word.Excerpt(given[0])))
		}
	}
	return nil
}

// parseKeep parses the value of KEEP.
func parseKeep(arg []byte) (int64, error) {
	if word.Is(arg, "ALL") {
		return reservations.KeepAll, nil
	}
	return ParseN("k", arg)
}

// parseReserved parses a limit: alg key p1 p2 n. fixed is set for =n. A limit of 0 is an error.
func parseReserved(limit [][]byte) (op engine.Op, fixed bool, err error) {
	const strict = 1 // a level without limits of 0
	n := limit[limitArgs-1]
	if fixed = len(n) > 1 && n[0] == '='; fixed {
		n = n[1:]
	}
	op, err = parseGrouped([][]byte{limit[0], limit[1], limit[2], limit[3], n}, strict)
	return op, fixed, err
}

// hashOf returns the hash of a request of RL.RESERVE: of its keys, algorithms and numbers, and not of
// parameters and ttl, because the same request may be sent again after its limits were changed.
func hashOf(ops []engine.Op, fixed uint64) uint64 {
	var room [256]byte // for the usual keys, without an allocation
	hash := binary.AppendUvarint(room[:0], fixed)
	for i := range ops {
		op := &ops[i]
		hash = binary.AppendUvarint(append(hash, byte(op.Params.Alg)), uint64(op.N))
		hash = append(binary.AppendUvarint(hash, uint64(len(op.Key))), op.Key...)
	}
	return siphash.Key{}.Sum(hash)
}

// replyReserve is replyAll, but allowed is the number that was granted with PARTIAL.
func replyReserve(w *resp.Writer, ops []engine.Op, ds []engine.Decision) {
	if replyFailed(w, ops, ds) {
		return
	}
	index, allowed := binding(ds)
	for i := range ds {
		if allowed > 0 {
			allowed = max(allowed, ds[i].Allowed)
		}
	}
	w.Array(2 + len(ds))
	w.Int(allowed)
	w.Int(int64(index))
	for i := range ds {
		decision(w, &ds[i])
	}
}

func opExtend(b *engine.Batch, args [][]byte) error {
	x := reservations.Extension{Keep: reservations.Unchanged}
	err := ParseID(args[1])
	if err == nil {
		x.TTL, err = ParseDuration("ttl", args[2])
	}
	for options := args[reserveWords:]; err == nil && len(options) > 0; options = options[2:] {
		switch by := word.Is(options[0], "BY"); {
		case !by && !word.Is(options[0], "KEEP"):
			return resp.NewError("ERR", "syntax error, after ttl only BY n and KEEP k are allowed, got "+
				word.Excerpt(options[0])+word.DidYouMean(options[0], "BY", "KEEP"))
		case len(options) == 1:
			return NoValue(options[0])
		case by:
			x.By, err = ParseN("n", options[1])
		default:
			x.Keep, err = parseKeep(options[1])
		}
	}
	if err == nil {
		reservations.Extend(b, args[1], x)
	}
	return err
}

func opCommit(b *engine.Batch, args [][]byte) error {
	if err := ParseID(args[1]); err != nil {
		return err
	}
	if used := args[2:]; slices.ContainsFunc(used, IsAmount) {
		return opCommitNamed(b, args[1], used)
	}
	if len(args)-2 > engine.MaxGroup {
		return resp.NewError("ERR", fmt.Sprintf("RL.COMMIT takes 1 to %d numbers, got %d", engine.MaxGroup, len(args)-2))
	}
	var room [8]int64 // for the usual numbers, without an allocation
	actual := room[:0]
	for _, arg := range args[2:] {
		n, err := ParseN("actual", arg)
		if err != nil {
			return err
		}
		actual = append(actual, n)
	}
	reservations.Commit(b, args[1], actual)
	return nil
}

// opCommitNamed parses the named amounts of RL.COMMIT.
func opCommitNamed(b *engine.Batch, id []byte, args [][]byte) error {
	if len(args) > weighing.MostNames {
		return resp.NewError("ERR", fmt.Sprintf("RL.COMMIT takes 1 to %d amounts, got %d", weighing.MostNames, len(args)))
	}
	var all []weighing.Amount
	for _, arg := range args {
		if !IsAmount(arg) {
			return resp.NewError("ERR", "RL.COMMIT takes numbers or named amounts, not both, got "+word.Excerpt(arg))
		}
		a, err := ParseAmount("RL.COMMIT", arg, 0)
		switch {
		case err != nil:
			return err
		case !weighing.IsName(a.Name):
			return badArgument("the name of an amount", weighing.NameForm, a.Name)
		case weighing.Has(all, a.Name):
			return resp.NewError("ERR", "each amount may be given once, got "+word.Excerpt(a.Name)+" twice")
		}
		all = append(all, a)
	}
	reservations.CommitNamed(b, id, all)
	return nil
}

func opCancel(b *engine.Batch, args [][]byte) error {
	if err := ParseID(args[1]); err != nil {
		return err
	}
	reservations.Cancel(b, args[1])
	return nil
}

// wordKey is the word before the key of a limit in RL.RESERVED.
const wordKey = "KEY"

func opReserved(b *engine.Batch, args [][]byte) error {
	if len(args) > 2 {
		return opReservedOf(b, args)
	}
	if err := ParseID(args[1]); err != nil {
		return err
	}
	reservations.Reserved(b, args[1])
	return nil
}

// defaultCount is the number of rows of RL.RESERVED KEY without COUNT.
const defaultCount = 10

// opReservedOf parses RL.RESERVED KEY.
func opReservedOf(b *engine.Batch, args [][]byte) error {
	if !word.Is(args[1], wordKey) {
		return resp.NewError("ERR", "syntax error, RL.RESERVED takes an id, or KEY and the key of a limit, got "+
			word.Excerpt(args[1])+word.DidYouMean(args[1], wordKey))
	}
	if err := ParseKey(args[2]); err != nil {
		return err
	}
	cursor, count := int64(0), int64(defaultCount)
	for options := args[3:]; len(options) > 0; options = options[2:] {
		var err error
		switch counts := word.Is(options[0], "COUNT"); {
		case !counts && !word.Is(options[0], "CURSOR"):
			return resp.NewError("ERR", "syntax error, after key only CURSOR cursor and COUNT count are allowed, got "+
				word.Excerpt(options[0])+word.DidYouMean(options[0], "CURSOR", "COUNT"))
		case len(options) == 1:
			return NoValue(options[0])
		case counts:
			count, err = parseLimit("count", options[1], 1, reservations.MaxCount)
		default:
			cursor, err = ParseN("cursor", options[1])
		}
		if err != nil {
			return err
		}
	}
	reservations.ReservedOf(b, args[2], cursor, count)
	return nil
}
