package datatypes

import (
	"bytes"
	"math"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values/numbers"
)

func expire(tx *engine.Tx, args [][]byte, out []byte) []byte {
	return expireIn(tx, args, afterSeconds, "expire", out)
}

func pExpire(tx *engine.Tx, args [][]byte, out []byte) []byte {
	return expireIn(tx, args, afterMillis, "pexpire", out)
}

func expireAt(tx *engine.Tx, args [][]byte, out []byte) []byte {
	return expireIn(tx, args, atSeconds, "expireat", out)
}

func pExpireAt(tx *engine.Tx, args [][]byte, out []byte) []byte {
	return expireIn(tx, args, atMillis, "pexpireat", out)
}

// expireIn executes a command that sets an expiry in a form. An expiry that is not in the
// future deletes the key.
func expireIn(tx *engine.Tx, args [][]byte, form expiryForm, name string, out []byte) []byte {
	o, wrong := parseExpire(args[2:])
	if wrong != "" {
		return fail(out, wrong)
	}
	at, ok := numbers.ParseInt(args[1])
	if !ok {
		return fail(out, errNotInt)
	}
	if form == afterSeconds || form == atSeconds {
		if at > math.MaxInt64/1000 || at < math.MinInt64/1000 {
			return fail(out, errExpire(name))
		}
		at *= 1000
	}
	if !form.absolute() {
		if at > math.MaxInt64-tx.Now().Millis() {
			return fail(out, errExpire(name))
		}
		at += tx.Now().Millis()
	}
	e, there := tx.Find(args[0])
	switch {
	case !there:
		return answer.AppendInt(out, 0)
	case !e.Alg().IsValue():
		return fail(out, errWrongType)
	case !o.permit(at, tx.Expiry(e)):
		return answer.AppendInt(out, 0)
	case at <= tx.Now().Millis():
		tx.Drop(e)
	default:
		tx.Expire(e, at)
	}
	return answer.AppendInt(out, 1)
}

// expireOptions are the conditions of EXPIRE.
type expireOptions struct{ none, some, later, earlier bool }

func parseExpire(args [][]byte) (o expireOptions, wrong string) {
	for _, arg := range args {
		switch {
		case isWord(arg, "NX"):
			o.none = true
		case isWord(arg, "XX"):
			o.some = true
		case isWord(arg, "GT"):
			o.later = true
		case isWord(arg, "LT"):
			o.earlier = true
		default:
			return o, "ERR Unsupported option " + printable(arg)
		}
	}
	switch {
	case o.none && (o.some || o.later || o.earlier):
		return o, "ERR NX and XX, GT or LT options at the same time are not compatible"
	case o.later && o.earlier:
		return o, "ERR GT and LT options at the same time are not compatible"
	}
	return o, ""
}

// permit reports whether an expiry may replace the present expiry, 0 for no expiry.
func (o *expireOptions) permit(at, present int64) bool {
	switch {
	case o.none && present != 0, o.some && present == 0:
		return false
	case o.later && (present == 0 || at <= present):
		return false
	case o.earlier && present != 0 && at >= present:
		return false
	}
	return true
}

// printable returns an argument for an error text. As in Redis it ends at a zero byte, and
// line breaks are spaces, or removed at the end.
func printable(arg []byte) string {
	arg, _, _ = bytes.Cut(arg, []byte{0})
	text := bytes.Clone(bytes.TrimRight(arg, "\r\n"))
	for i, c := range text {
		if c == '\r' || c == '\n' {
			text[i] = ' '
		}
	}
	return string(text)
}

// left returns the milliseconds until a key expires, or is fully reset, rounded up for a
// limit; -1 if it never does, -2 if it is not there.
func left(tx *engine.Tx, key []byte) (millis int64, limit bool) {
	e, there := tx.Find(key)
	switch {
	case !there:
		return -2, false
	case !e.Alg().IsPlain():
		return tx.Reset(e).CeilMillis(), true
	}
	if at := tx.Expiry(e); at != 0 {
		return at - tx.Now().Millis(), false
	}
	return -1, false
}

func pTTL(tx *engine.Tx, args [][]byte, out []byte) []byte {
	millis, _ := left(tx, args[0])
	return answer.AppendInt(out, millis)
}

func ttl(tx *engine.Tx, args [][]byte, out []byte) []byte {
	millis, limit := left(tx, args[0])
	return answer.AppendInt(out, seconds(millis, limit))
}

// seconds converts milliseconds to the nearest second, or up for a limit, unless they are
// negative.
func seconds(millis int64, limit bool) int64 {
	switch {
	case millis < 0:
		return millis
	case limit:
		return millis/1000 + min(millis%1000, 1)
	}
	return millis/1000 + (millis%1000+500)/1000
}

func pExpireTime(tx *engine.Tx, args [][]byte, out []byte) []byte {
	millis, _ := left(tx, args[0])
	if millis >= 0 {
		millis += tx.Now().Millis()
	}
	return answer.AppendInt(out, millis)
}

func expireTime(tx *engine.Tx, args [][]byte, out []byte) []byte {
	millis, limit := left(tx, args[0])
	if millis >= 0 {
		millis += tx.Now().Millis()
	}
	return answer.AppendInt(out, seconds(millis, limit))
}

func persist(tx *engine.Tx, args [][]byte, out []byte) []byte {
	e, there := tx.Find(args[0])
	switch {
	case !there:
		return answer.AppendInt(out, 0)
	case !e.Alg().IsValue():
		return fail(out, errWrongType)
	case tx.Expiry(e) == 0:
		return answer.AppendInt(out, 0)
	}
	tx.Expire(e, 0)
	return answer.AppendInt(out, 1)
}
