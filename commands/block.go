package commands

import (
	"time"

	"limitsrv/commands/limiters"
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

var rlBlock = spec.Command{
	Name: "RL.BLOCK", Args: "key duration",
	Summary: "Denies all requests for a key for the duration, or until RL.RESET ends the block. The duration is rounded " +
		"up to whole seconds, and to at least 2 s. The RL commands that take tokens or leases, and RL.ALL, reply [0, " +
		"limit, 0, wait_ms, reset_ms]; " +
		"CL.THROTTLE, THROTTLE and GCRA reply as for a denial. RL.CHECK denies with the reason blocked if it would count " +
		"at the key. The count of the key is forgotten: after the block its limit starts anew. Another RL.BLOCK replaces " +
		"the block.",
	Complexity: "O(1)", Since: "0.2.0", Group: spec.LimiterGroup,
	Flags: spec.Write | spec.DenyOOM | spec.Forgets | spec.NoScript, Keys: spec.OneKey,
	Body: &spec.Ops{Parse: opBlock, Reply: limiters.ReplyBlock},
}

var rlBlocked = spec.Command{
	Name: "RL.BLOCKED", Args: "[count]",
	Summary: "Returns [key, ms to the end, database] of each blocked key and closed penalty box, those that end last " +
		"first, up to count of them, 100 by default. " +
		"RL.RESET ends a block. At most the thousand that began last are listed.",
	Complexity: "O(N), N being the blocks", Since: "0.2.0", Group: spec.LimiterGroup,
	Flags: spec.ReadOnly | spec.AllKeys | spec.NoScript, Fresh: session.Always, Front: spec.FrontAsks,
	Body: session.Run(runBlocked),
}

func opBlock(b *engine.Batch, args [][]byte) error {
	key := args[1]
	if err := limiters.ParseKey(key); err != nil {
		return err
	}
	if rules.IsPenaltyKey(key) {
		return resp.NewError("ERR", "key must not be a penalty box of rules, got "+word.Excerpt(key)+
			"; block the key of a limit")
	}
	nanos, err := limiters.ParseDuration("duration", args[2])
	if err != nil {
		return err
	}
	limiters.AppendBlock(b, key, nanos, []byte(rules.KeyPrefix))
	return nil
}

func runBlocked(s *session.Session, w *resp.Writer, args [][]byte) {
	count := int64(blockedPage)
	if len(args) > 1 {
		var err error
		if count, err = wholeFrom("count", args[1], 1, maxBlocked); err != nil {
			w.Error(err)
			return
		}
	}
	boxes := s.Handler().Engine().ClosedBoxes(s.Handler().Now())
	boxes = boxes[:min(int64(len(boxes)), count)]
	w.Array(len(boxes))
	for i := range boxes {
		w.Array(3)
		w.Bulk(boxes[i].Key)
		w.Int(BlockedMillis(&boxes[i]))
		w.Int(int64(boxes[i].DB))
	}
}

// BlockedMillis returns the milliseconds until a penalty box opens, or until a block ends.
func BlockedMillis(box *engine.ClosedBox) int64 {
	left := box.Wait.CeilMillis()
	if limiters.IsBlock(&box.Params) {
		left += limiters.BlockEnd / int64(time.Millisecond)
	}
	return left
}

// The default and the bound of the rows of RL.BLOCKED.
const (
	blockedPage = 100
	maxBlocked  = 10_000
)
