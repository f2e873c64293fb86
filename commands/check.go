package commands

import (
	"slices"
	"strings"

	"limitsrv/commands/limiters"
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

var rlCheck = spec.Command{
	Name: "RL.CHECK", Args: "domain attribute value [attribute value ...] [AND attribute value [attribute value ...] " +
		"...] [HITS <n | amount=n [amount=n ...]>] [ID id] [PEEK] [ROWS] [HEADERS] [ONCE id [FOR duration] | RESERVE id " +
		"ttl [KEEP k|ALL] [PARTIAL]]",
	Summary: "Decides a request with these attributes by the rules of a domain, all limits or none. Returns [allowed, " +
		"limit, remaining, wait_ms, " +
		"reset_ms, name of the binding limit, reason]. Each limit takes n, 1 by default, or by its weights the sum of " +
		"the named amounts, and 1 without weights. With ROWS it also returns [[name, five integers, mode, descriptor], " +
		"...], where the mode is enforced, shadow, quota or penalty, and the first descriptor is 0; with HEADERS it also " +
		"returns [header, value, ...] for an answer over HTTP. RESERVE holds the tokens under an id, as " +
		"RL.RESERVE does: RL.COMMIT then says how many were used. The reason is ok, near, grace, limited, " +
		"quota, blocked, denied, allowed, unlimited, none or unmatched; without a limit, limit and remaining are -1.",
	Complexity: "O(attributes, rules that may match, and limits)", Since: "0.2.0", Group: rulesGroup,
	Flags: spec.Write | spec.DenyOOM | spec.Fast | spec.Decides, Domain: 1,
	Body: &session.Asks{ID: idOfCheck, Parse: askCheck, Reply: tellCheck},
}

var rlSettle = spec.Command{
	Name: "RL.SETTLE", Args: "domain attribute value [attribute value ...] BY <n | amount=n [amount=n ...]> [ID id] " +
		"[ONCE id [FOR duration]]",
	Summary: "After a request: takes n tokens unconditionally, or with n below 0 returns them, for all limits that " +
		"RL.CHECK would take them from. Named amounts are weighed, and change nothing of a limit without weights; " +
		"with ID also returns the holder's leases. Returns as RL.CHECK ROWS.",
	Complexity: "O(attributes, rules that may match, and limits)", Since: "0.2.0", Group: rulesGroup,
	Flags: spec.Write | spec.DenyOOM | spec.Fast, Domain: 1,
	Body: &session.Asks{ID: idOfSettle, Parse: askSettle, Reply: tellCheck},
}

const rulesGroup = "rules"

// The words that end the attributes of a line.
const (
	wordAnd  = "AND"
	wordHits = "HITS"
	wordID   = "ID"
	wordPeek = "PEEK"
	wordRows = "ROWS"
	wordHead = "HEADERS"
	wordBy   = "BY"
	wordOnce = "ONCE"
	wordHold = "RESERVE"
)

// checkWords and settleWords end the attributes of RL.CHECK and RL.SETTLE; wordAnd ends the
// attributes of a descriptor.
var (
	checkWords  = []string{wordHits, wordID, wordPeek, wordRows, wordHead, wordOnce, wordHold}
	settleWords = []string{wordBy, wordID, wordOnce}
)

// askCheck parses RL.CHECK.
func askCheck(a *session.Ask, q *checks.Request, args [][]byte) error {
	rest, err := attributes(q, args, checkWords)
	for err == nil && len(rest) > 0 {
		switch option := rest[0]; {
		case word.Is(option, wordPeek):
			q.Peek, rest = true, rest[1:]
		case word.Is(option, wordRows):
			a.Rows, rest = true, rest[1:]
		case word.Is(option, wordHead):
			a.Headers, rest = true, rest[1:]
		case len(rest) == 1:
			return limiters.NoValue(option)
		case word.Is(option, wordHits) && limiters.IsAmount(rest[1]):
			rest, err = amounts(q, wordHits, rest[1:], 0)
		case word.Is(option, wordHits):
			q.Hits, err = limiters.ParseN(wordHits, rest[1])
			rest = rest[2:]
		case word.Is(option, wordOnce):
			return askOnce(q, rest)
		case word.Is(option, wordHold):
			return askReserve(q, rest)
		case word.Is(option, wordID):
			q.ID, err = rest[1], limiters.ParseID(rest[1])
			rest = rest[2:]
		default:
			return unknownOption(option, append([]string{wordAnd}, checkWords...)...)
		}
	}
	return err
}

// askSettle parses RL.SETTLE.
func askSettle(a *session.Ask, q *checks.Request, args [][]byte) error {
	rest, err := attributes(q, args, settleWords)
	a.Rows = true
	given := false
	for err == nil && len(rest) > 0 {
		switch option := rest[0]; {
		case len(rest) == 1:
			return limiters.NoValue(option)
		case word.Is(option, wordBy) && limiters.IsAmount(rest[1]):
			given, q.Used = true, true
			rest, err = amounts(q, wordBy, rest[1:], -engine.MaxN)
			continue
		case word.Is(option, wordBy):
			given = true
			q.Settle, err = limiters.ParseSigned(wordBy, rest[1])
		case word.Is(option, wordOnce):
			err = askOnce(q, rest)
			rest = rest[:2] // it is the end of the line
		case word.Is(option, wordID):
			q.ID, err = rest[1], limiters.ParseID(rest[1])
		default:
			return unknownOption(option, settleWords...)
		}
		rest = rest[2:]
	}
	if err == nil && !given {
		err = resp.NewError("ERR", "RL.SETTLE needs BY n, a whole number other than 0, or BY amount=n")
	}
	return err
}

// amounts parses the named amounts at the start of args, from least to engine.MaxN, and returns the
// rest.
func amounts(q *checks.Request, option string, args [][]byte, least int64) (rest [][]byte, err error) {
	for len(args) > 0 && limiters.IsAmount(args[0]) {
		a, err := limiters.ParseAmount(option, args[0], least)
		if err != nil {
			return nil, err
		}
		q.Amounts, args = append(q.Amounts, a), args[1:]
	}
	return args, nil
}

// askOnce parses the option ONCE, which must be the end of a line.
func askOnce(q *checks.Request, rest [][]byte) (err error) {
	if spec.OnceAt(rest) != 0 {
		return resp.NewError("ERR", "syntax error, the end of the line must be ONCE id [FOR duration]")
	}
	q.Once, q.OnceFor, err = limiters.ParseOnce(rest)
	return err
}

// askReserve parses the option RESERVE, which must be the end of a line.
func askReserve(q *checks.Request, rest [][]byte) (err error) {
	if spec.ReserveAt(rest) != 0 {
		return resp.NewError("ERR", "syntax error, the end of the line must be RESERVE id ttl [KEEP k|ALL] [PARTIAL]")
	}
	q.Reserve, q.Terms, err = limiters.ParseReserve(rest)
	return err
}

// startsWord has the second bytes, by first byte, of the words that end attributes, in small
// letters: bit n is for the n-th letter.
var startsWord = func() (table [256]uint32) {
	for _, w := range slices.Concat([]string{wordAnd}, checkWords, settleWords) {
		second := uint32(1) << (w[1] & 31)
		table[w[0]] |= second
		table[w[0]|0x20] |= second
	}
	return table
}()

// mayEnd reports whether a key may be one of the words that end attributes.
func mayEnd(key []byte) bool {
	return len(key) > 1 && startsWord[key[0]]>>(key[1]&31)&1 != 0
}

// attributes parses the domain and the descriptors of a line into a request of one token.
// The rest begins with one of the words.
func attributes(q *checks.Request, args [][]byte, words []string) (rest [][]byte, err error) {
	q.Reset(args[1])
	d := q.AddDescriptor()
	entries := d.Entries
	for rest = args[2:]; len(rest) > 0; rest = rest[2:] {
		if key := rest[0]; mayEnd(key) {
			if word.Is(key, wordAnd) && len(rest) > 2 {
				d.Entries = entries
				d, rest = q.AddDescriptor(), rest[1:]
				entries = d.Entries
			} else if isAny(key, words) {
				d.Entries = entries
				return rest, nil
			}
		}
		if len(rest) == 1 {
			return nil, noValue(rest[0], append([]string{wordAnd}, words...)...)
		}
		entries = append(entries, rules.Entry{Key: rest[0], Value: rest[1]})
	}
	d.Entries = entries
	return nil, nil
}

func isAny(arg []byte, words []string) bool {
	for _, w := range words {
		if word.Is(arg, w) {
			return true
		}
	}
	return false
}

func unknownOption(option []byte, allowed ...string) error {
	return resp.NewError("ERR", "unknown option "+word.Excerpt(option)+" after the attributes; allowed are "+
		strings.Join(allowed, ", ")+word.DidYouMean(option, allowed...))
}

// noValue is the error for a key at the end of a line, where a value or a word had to follow.
func noValue(key []byte, allowed ...string) error {
	return resp.NewError("ERR", "attribute "+word.Excerpt(key)+" has no value; allowed after the attributes are "+
		strings.Join(allowed, ", ")+word.DidYouMean(key, allowed...))
}

// tellCheck replies to RL.CHECK and RL.SETTLE.
func tellCheck(w *resp.Writer, a *session.Ask, answer *checks.Answer, headers *checks.Headers) {
	parts := 7
	if a.Rows {
		parts++
	}
	if a.Headers {
		parts++
	}
	w.Array(parts)
	tellRow(w, &answer.Row, answer.Granted)
	w.BulkString(answer.Name)
	w.BulkString(answer.Reason.String())
	if a.Rows {
		tellRows(w, answer)
	}
	if a.Headers {
		headers.Set(answer, checks.XHeaders|checks.DraftHeaders)
		w.Array(2 * len(headers.List))
		for _, h := range headers.List {
			w.BulkString(h.Name)
			w.Bulk(h.Value)
		}
	}
}

// wordPenalty is the mode of a row of a penalty box.
const wordPenalty = "penalty"

// tellRows writes the limits of an answer, or the penalty boxes or the blocked key that deny it.
func tellRows(w *resp.Writer, answer *checks.Answer) {
	w.Array(len(answer.Rows) + len(answer.Boxes))
	for i := range answer.Rows {
		m := &answer.Met[i]
		tellFullRow(w, &answer.Rows[i], m.Mode.String(), int(m.Descriptor))
	}
	for i := range answer.Boxes {
		tellFullRow(w, &answer.Boxes[i].Row, wordPenalty, answer.Boxes[i].Descriptor)
	}
}

// tellFullRow writes a row with its name, mode and descriptor.
func tellFullRow(w *resp.Writer, r *checks.Row, mode string, descriptor int) {
	w.Array(8)
	w.BulkString(r.Name)
	tellRow(w, r, 0)
	w.BulkString(mode)
	w.Int(int64(descriptor))
}

// tellRow writes the five integers of a row. granted is Answer.Granted; 0: allowed is 1 or 0.
func tellRow(w *resp.Writer, r *checks.Row, granted int64) {
	allowed := granted
	if r.Allowed {
		allowed = max(1, granted)
	}
	w.Int(allowed)
	w.Int(r.Limit)
	w.Int(r.Remaining)
	w.Int(r.WaitMillis)
	w.Int(r.ResetMillis)
}
