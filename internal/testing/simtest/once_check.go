package simtest

import (
	"bytes"

	"limitsrv/commands/reservations"
	"limitsrv/engine"
)

// readOnce reads op i of a call, with its answer if it was answered. It returns the id; nil if the
// op has no such id.
func (h *History) readOnce(c *Call, i int, reply *reservations.Reply) (id []byte) {
	op := &c.Ops[i]
	if op.Kind != engine.Do || !bytes.HasPrefix(c.Calls[op.N].Args[0], []byte(onceID)) {
		return nil
	}
	bare := untagged(&c.Calls[op.N])
	if bare.Answer = nil; c.Outcome == Answered {
		bare.Answer = []byte(c.Answers[i])
	}
	if err := reply.Read(bare); err != nil && c.Outcome == Answered {
		h.Fault("call %d with id %s was answered with %v", c.Number, bare.Args[0], err)
		return nil
	}
	return bare.Args[0]
}

// checkOnce finds requests with ids that acted not at all although they were answered, or more than
// once although they were delivered often.
func (h *History) checkOnce() {
	type state struct {
		key      string
		n        int64
		answered bool
	}
	ids, lacks := map[string]*state{}, map[string]bool{}
	var reply reservations.Reply
	for _, c := range h.Calls {
		for i := range c.Ops {
			name := h.readOnce(c, i, &reply)
			if name == nil {
				continue
			}
			id, op := string(name), &reply.Ops[0]
			key := string(op.Key)
			lacks[key] = lacks[key] || c.MayLack || h.Evicted[key] || h.Evicted[id]
			if c.Outcome == Refused {
				continue
			}
			s := ids[id]
			if s == nil {
				s = &state{key: key, n: op.N}
				ids[id] = s
			}
			if c.Outcome != Answered {
				continue
			}
			switch d := &reply.Decisions[0]; {
			case d.Status == engine.OK && d.Allowed == 1:
				s.answered = true
			case d.Status != engine.NoMemory:
				h.Fault("call %d with id %s was answered %+v", c.Number, id, *d)
			}
		}
	}
	given, unknown := map[string]int64{}, map[string]int64{}
	for _, s := range ids {
		if s.answered {
			given[s.key] += s.n
		} else {
			unknown[s.key] += s.n
		}
	}
	for key, lack := range lacks {
		if used := h.used(key, onceLimit); !lack && (used < given[key] || used > given[key]+unknown[key]) {
			h.Fault("of %s %d are used at the end, requests with ids were given %d and perhaps %d", key, used, given[key],
				unknown[key])
		}
	}
}
