package session

import (
	"limitsrv/commands/rules"
	"limitsrv/engine"
	"limitsrv/engine/topk"
)

// Top is engine.Engine.Top now, without the key of ops that only need the rules or strike a box: no
// client has asked for this key.
func (h *Handler) Top(kind engine.TopKind, window topk.Window, count int) engine.TopResult {
	top := h.Engine().Top(h.Now(), kind, window, count+1)
	for i := range top.Rows {
		if string(top.Rows[i].Key) == rules.KeyPrefix {
			top.Rows = append(top.Rows[:i], top.Rows[i+1:]...)
			break
		}
	}
	top.Rows = top.Rows[:min(count, len(top.Rows))]
	return top
}
