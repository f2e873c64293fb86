package stored

import (
	"strconv"
	"strings"

	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// cursorDigits is the number of hexadecimal digits of a cursor: the start of an override's ID
// in its name. So a cursor is less than 2^52, which every client can hold.
const cursorDigits = 13

// doGet answers the row of an override.
func doGet(tx *engine.Tx, args [][]byte, dst []byte) []byte {
	d := tx.Document(engine.Rules, string(args[0]))
	if d == nil || hasExpired(d, tx.Now()) {
		return answer.AppendNilArray(dst)
	}
	return appendRow(dst, d, tx.Now())
}

// appendRow appends the row of an override: the domain, the path as an array of keys and
// values, the effect, the limit, the rule, the time to live in milliseconds or -1, the note, the
// user, and the time when it was set in milliseconds since 1970.
func appendRow(dst []byte, d *engine.Document, now engine.Instant) []byte {
	row, err := rowOf(d)
	if err != nil {
		return answer.AppendError(dst, "ERR "+err.Error())
	}
	ttl := int64(-1)
	if row.Until != 0 {
		ttl = (int64(row.Until-now) + 999_999) / 1e6
	}
	bulk := func(text string) { dst = answer.AppendBulk(dst, []byte(text)) }
	dst = answer.AppendArray(dst, 9)
	bulk(row.Domain)
	dst = answer.AppendArray(dst, 2*len(row.Path))
	for _, a := range row.Path {
		bulk(a.Key)
		bulk(a.Value)
	}
	bulk(row.Effect.String())
	bulk(row.Limit)
	bulk(row.Rule)
	dst = answer.AppendInt(dst, ttl)
	bulk(row.Note)
	bulk(row.User)
	return answer.AppendInt(dst, row.Set.Millis())
}

// doList answers the next cursor and the rows of at least count overrides of a domain in the
// order of their names, if there are so many. Those with the same cursor are on the same
// page.
func doList(tx *engine.Tx, args [][]byte, dst []byte) []byte {
	var (
		all   = withPrefix(tx.Documents(engine.Rules), domainPrefix(string(args[0])))
		first = strconv.FormatUint(number(args[1]), 16)
		count = int(min(number(args[2]), MaxOverrides))
		page  []*engine.Document
		last  string // the cursor of the last row
	)
	first = strings.Repeat("0", max(0, cursorDigits-len(first))) + first
	next := uint64(0)
	for _, d := range all[search(all, domainPrefix(string(args[0]))+first):] {
		if hasExpired(d, tx.Now()) {
			continue
		}
		at := cursorOf(d)
		if len(page) >= count && at != last {
			next, _ = strconv.ParseUint(at, 16, 64)
			break
		}
		page, last = append(page, d), at
	}
	dst = answer.AppendInt(answer.AppendArray(dst, 2), int64(next))
	dst = answer.AppendArray(dst, len(page))
	for _, d := range page {
		dst = appendRow(dst, d, tx.Now())
	}
	return dst
}

func cursorOf(d *engine.Document) string {
	id := d.Name[strings.LastIndexByte(d.Name, '/')+1:]
	return id[:cursorDigits]
}
