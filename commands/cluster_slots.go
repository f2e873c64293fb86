package commands

import (
	"strconv"

	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/engine/slots"
	"limitsrv/internal/status"
)

func runCountKeysInSlot(s *session.Session, w *resp.Writer, _ []status.Node, args [][]byte) {
	slot, err := strconv.ParseInt(string(args[2]), 10, 64)
	switch {
	case err != nil:
		w.Error(errNotInt)
		return
	case slot < 0 || slot >= slots.Count:
		w.Error(errSlot)
		return
	}
	n := int64(0)
	err = eachInSlot(s.Handler(), slots.Slot(slot), func([]byte) bool {
		n++
		return true
	})
	if err != nil {
		w.Error(resp.Expose(err))
		return
	}
	w.Int(n)
}

func runGetKeysInSlot(s *session.Session, w *resp.Writer, _ []status.Node, args [][]byte) {
	slot, err := strconv.ParseInt(string(args[2]), 10, 64)
	count, err2 := strconv.ParseInt(string(args[3]), 10, 64)
	switch {
	case err != nil || err2 != nil:
		w.Error(errNotInt)
		return
	case slot < 0 || slot >= slots.Count || count < 0:
		w.Error(errSlotKeys)
		return
	}
	var found keyList
	count = min(count, maxKeys)
	err = eachInSlot(s.Handler(), slots.Slot(slot), func(key []byte) bool {
		if int64(len(found.ends)) < count {
			found.add(key)
		}
		return int64(len(found.ends)) < count
	})
	if err != nil {
		w.Error(resp.Expose(err))
		return
	}
	found.reply(w)
}

// eachInSlot calls visit for the keys of a slot until it returns false, and for some keys
// after that.
func eachInSlot(h *session.Handler, slot slots.Slot, visit func(key []byte) bool) (err error) {
	var (
		now    = h.Now()
		cursor uint64
		more   = true
	)
	for more && err == nil {
		cursor, err = h.Engine().Scan(now, 0, cursor, maxScan, func(key []byte, _ engine.Alg) {
			if slots.Of(key) == slot {
				more = visit(key) && more
			}
		})
		more = more && cursor != 0
	}
	return err
}
