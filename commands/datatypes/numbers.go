package datatypes

import (
	"math"

	"limitsrv/engine"
	"limitsrv/engine/values/numbers"
)

// The functions below are the usual cases of commands on counters, see spec.Call.Integer: the key
// has an integer already, and there is no option and no error.

func incrNumber(tx *engine.Tx, args [][]byte) (n int64, ok bool) { return addNumber(tx, args[0], 1) }

func decrNumber(tx *engine.Tx, args [][]byte) (n int64, ok bool) { return addNumber(tx, args[0], -1) }

func incrByNumber(tx *engine.Tx, args [][]byte) (n int64, ok bool) {
	if n, ok = numbers.ParseInt(args[1]); !ok {
		return 0, false
	}
	return addNumber(tx, args[0], n)
}

// addNumber adds to a number, unless the sum overflows.
func addNumber(tx *engine.Tx, key []byte, n int64) (sum int64, ok bool) {
	x := tx.Number(key)
	if x == nil {
		return 0, false
	}
	if sum = x.Value + n; (sum > x.Value) != (n > 0) {
		return 0, false
	}
	tx.SetNumber(x, sum, x.Expiry)
	return sum, true
}

func expireNumber(tx *engine.Tx, args [][]byte) (n int64, ok bool) {
	seconds, ok := numbers.ParseInt(args[1])
	if !ok || seconds <= 0 || seconds > math.MaxInt64/1000 {
		return 0, false
	}
	return expireAfter(tx, args, seconds*1000)
}

func pExpireNumber(tx *engine.Tx, args [][]byte) (n int64, ok bool) {
	millis, ok := numbers.ParseInt(args[1])
	if !ok {
		return 0, false
	}
	return expireAfter(tx, args, millis)
}

// expireAfter lets a number expire after some time, unless it is at once or there are options.
func expireAfter(tx *engine.Tx, args [][]byte, millis int64) (n int64, ok bool) {
	now := tx.Now().Millis()
	if len(args) > 2 || millis <= 0 || millis > math.MaxInt64-now {
		return 0, false
	}
	x := tx.Number(args[0])
	if x == nil {
		return 0, false
	}
	tx.SetNumber(x, x.Value, now+millis)
	return 1, true
}

func pTTLNumber(tx *engine.Tx, args [][]byte) (millis int64, ok bool) {
	x := tx.Number(args[0])
	switch {
	case x == nil:
		return 0, false
	case x.Expiry == 0:
		return -1, true
	}
	return x.Expiry - tx.Now().Millis(), true
}

func ttlNumber(tx *engine.Tx, args [][]byte) (n int64, ok bool) {
	millis, ok := pTTLNumber(tx, args)
	return seconds(millis, false), ok
}
