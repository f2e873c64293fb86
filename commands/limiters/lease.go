package limiters

import (
	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/engine"
)

var rlAcquire = spec.Command{
	Name: "RL.ACQUIRE", Args: "key limit ttl id [SHADOW]",
	Summary: "Acquires one of limit leases for the holder id, or renews the holder's lease: limits " +
		"concurrency. A lease that is not released expires after ttl. If denied, wait_ms is the time until the next lease " +
		"expires. limit is at most 1000000.",
	Complexity: "O(holders)", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.Write | spec.DenyOOM | spec.Fast | spec.Decides, Keys: spec.OneKey,
	Body: &spec.Ops{Parse: opAcquire, Reply: replyDecision},
}

var rlRelease = spec.Command{
	Name: "RL.RELEASE", Args: "key id",
	Summary:    "Releases the lease of the holder id. Returns 1, or 0 if it holds none.",
	Complexity: "O(holders)", Since: "0.1.0", Group: spec.LimiterGroup,
	Flags: spec.Write | spec.Fast, Keys: spec.OneKey,
	Body: &spec.Ops{Parse: opRelease, Reply: replyRelease},
}

func opAcquire(b *engine.Batch, args [][]byte) (err error) {
	op := engine.Op{Kind: engine.Acquire, Key: args[1], ID: args[4], N: 1}
	op.Params.Alg = engine.Lease
	if err := ParseKey(op.Key); err != nil {
		return err
	}
	usage := engine.Lease.Usage()
	if err := parseParams(&op.Params, &usage, args[2], args[3], b.Level); err != nil {
		return err
	}
	if err := ParseID(op.ID); err != nil {
		return err
	}
	if op.Mode, err = parseOptions(args[5:], engine.Shadow, b.Level); err != nil {
		return err
	}
	if op.Params.Limit == 0 {
		op.Params.Limit, op.N = 1, 0
	}
	b.Ops = append(b.Ops, op)
	return nil
}

func opRelease(b *engine.Batch, args [][]byte) error {
	if err := ParseKey(args[1]); err != nil {
		return err
	}
	if err := ParseID(args[2]); err != nil {
		return err
	}
	b.Ops = append(b.Ops, engine.Op{Kind: engine.Release, Key: args[1], ID: args[2]})
	return nil
}

func replyRelease(w *resp.Writer, _ []engine.Op, ds []engine.Decision) {
	if !replyFailed(w, nil, ds) {
		w.Int(ds[0].Allowed)
	}
}
