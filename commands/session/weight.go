package session

import (
	"bytes"
	"fmt"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/internal/fatal"
)

// A command on plain values may take work, and write a reply, that grow with the values. So a batch
// is full at batchWeight: only a few such commands run before the transport checks the time and the
// output. Before a command with Work is gathered, the session looks up its work on the present
// values.
const (
	batchWeight = 64
	// workPerWeight is the work that weighs as much as a command on a small value. A full batch
	// takes about 0.2 ms.
	workPerWeight = 128
	// maxWork is the work of a full batch. A command or a transaction with at least this work
	// waits for a turn, see turns. It takes about 1 ms.
	maxWork = 1 << 15
	// MostWork bounds the work of a command, or of all commands of a transaction, that a client
	// sends. It takes 20 to 40 ms.
	MostWork = 1 << 20
	// A command with wordyWords words or more takes workPerWord for each word.
	wordyWords  = 1024
	workPerWord = 8
	// bytesPerWork is the number of bytes of an answer that take as long as a visit to an element:
	// they are copied, rendered, kept until the socket takes them, and passed to the system. A client
	// with answers of dearAnswers bytes waits for a turn before the next.
	bytesPerWork = 6
	dearAnswers  = 1 << 20
	// timedWeight is the least weight of a batch to be timed to its end, because its replies may
	// be large.
	timedWeight = 16
	// inFlightShare multiplies batchWeight for batches that another goroutine executes, because
	// each of them waits for the log or for other nodes, and the caller serves other sessions
	// meanwhile.
	inFlightShare = 16
	// frontWeight is the weight at a front of a command with Work: the work is unknown there.
	frontWeight = 32
	// mostForwarded bounds the work of a batch from another node that is no transaction with writes.
	// A pipeline of commands with MostWork, which a front sends, stays within it.
	mostForwarded = MostWork * (batchWeight * inFlightShare / frontWeight)
)

// work is the state of a session that bounds its batches.
type work struct {
	spent     int64 // see Spent
	inFlight  bool  // the last batch went in flight
	granted   int64 // Batch.Granted of the batch in flight
	dearUntil int64 // dearFor after the end of the last slow batch, in the time of active; 0: none yet
	answered  int   // bytes of the last answers, if the commands may answer at length
}

// Slow batches wait for the sake of other clients. A client that has sent slow batches does not
// count as another client for dearFor.
const dearFor = 10 * time.Second

// A load is the weight of the commands of a batch.
type load struct{ weight int }

// weigh returns the least weight of a command in a batch.
func (c *Spec) weigh() int {
	if c.Flags&spec.Plain == 0 {
		return 0
	}
	return 1
}

// errDear is the error of a command with too much work.
func errDear(work int64) error {
	return resp.NewError("ERR", fmt.Sprintf("the command would visit elements, or copy parts of values, %d times, and at "+
		"most %d are allowed, because other clients wait meanwhile. Nothing was executed. %s", work, int64(MostWork), divide))
}

// errExecDear is the error of a transaction with too much work.
func errExecDear(work int64) error {
	return resp.NewError("EXECABORT", fmt.Sprintf("Transaction discarded because its commands would visit elements, or "+
		"copy parts of values, %d times, and at most %d are allowed, because other clients wait meanwhile. Send fewer "+
		"commands at a time. %s", work, int64(MostWork), divide))
}

// divide is the advice of errors about too much work.
const divide = "Read a large value in parts (HSCAN, SSCAN, ZSCAN, LRANGE, ZRANGE, GETRANGE), remove its elements in " +
	"parts (SPOP, LTRIM, ZREMRANGEBYRANK), or combine smaller sets"

// addWeight adds the weight of a gathered command. It closes a batch with much work and marks it
// slow, so that it waits for a turn. It returns an error if the work exceeds MostWork: the command
// must not be executed then.
func (s *Session) addWeight(c *Spec, args [][]byte) error {
	s.g.weight += c.weight
	if !c.HasWork && len(args) < wordyWords {
		return nil
	}
	batch, unsettled := &s.g.batch, s.g.batch.Atomic && s.isUnsettled(c, args)
	work := s.workOf(c, args, unsettled)
	if work > MostWork && !s.tx.running { // EXEC has an error of its own
		return errDear(work)
	}
	s.g.weight += int(min(work/workPerWeight, batchWeight*inFlightShare))
	if c.HasWork && s.h.AtFront() {
		s.g.weight += frontWeight - c.weight
	}
	batch.Work += max(work, 1)
	if unsettled || work >= maxWork || batch.Atomic && batch.Work >= maxWork {
		batch.Slow, batch.Closed = true, true
	}
	return nil
}

// noDatabase is the number of a database that no client can select.
const noDatabase = 1<<8 - 1

// workOf returns the estimated work of a command. An unsettled command of a transaction may use a
// value that earlier commands of known work store or remove.
func (s *Session) workOf(c *Spec, args [][]byte, unsettled bool) (work int64) {
	if len(args) >= wordyWords {
		work = workPerWord * int64(len(args))
	}
	if !c.HasWork {
		return work
	}
	look := s.h.looks.Get().(*engine.Batch)
	c.SetWork(look.AddCall(s.db), args[1:])
	work += s.h.WorkOf(look)
	if unsettled {
		look.Reset()
		c.SetWork(look.AddCall(noDatabase), args[1:])
		work = max(work, s.h.WorkOf(look), s.tx.settled)
	} else if s.tx.running {
		s.tx.settled += work
	}
	look.Reset()
	s.h.looks.Put(look)
	return work
}

// manyWords is the least number of words of a command that may store many elements. The work of a
// later command on the same key is then unknown until the first is executed.
const manyWords = 64

// maxPairs bounds the pairs of keys that isUnsettled compares for one command.
const maxPairs = 1 << 12

// isUnsettled reports whether the work of a command depends on earlier commands of the batch: one
// of them may replace a value that the command uses.
func (s *Session) isUnsettled(c *Spec, args [][]byte) bool {
	if !c.HasWork {
		return false
	}
	keys, pairs := c.positions(args), 0
	for i := range s.g.items {
		it := &s.g.items[i]
		if it.err != nil || it.spec == nil || !it.spec.Flags.MayWrite() {
			continue
		}
		if it.spec.Flags&(spec.Replaces|spec.Forgets|spec.Runs) == 0 && len(it.args) < manyWords {
			continue
		}
		if it.spec.Flags&(spec.Runs|spec.AllKeys) != 0 {
			return true
		}
		replaced := it.spec.positions(it.args)
		if pairs += count(keys) * count(replaced); pairs > maxPairs || meet(keys, args, replaced, it.args) {
			return true
		}
	}
	return false
}

// count returns the number of keys. Requires: k is a result of Spec.positions.
func count(k spec.Keys) int { return max(0, k.Last-k.First+k.Step) / k.Step }

// meet reports whether the line of has a key in common with a line in others. a are the
// positions of keys in of, b in others.
func meet(a spec.Keys, of [][]byte, b spec.Keys, others [][]byte) bool {
	for i := a.First; i <= a.Last; i += a.Step {
		for j := b.First; j <= b.Last; j += b.Step {
			if bytes.Equal(of[i], others[j]) {
				return true
			}
		}
	}
	return false
}

// ReviewWork sets the estimated work of a batch from another node, and marks it slow from twice
// maxWork on: a session fills batches up to maxWork before their last command. look holds the calls
// of spec.Command.SetWork. It returns an error if a command has more than MostWork, or the batch has
// too much. The batch must not be executed then.
func (h *Handler) ReviewWork(batch, look *engine.Batch) error {
	batch.Work = h.WorkOf(look)
	for i := range look.Calls {
		if work, _, _ := answer.TakeInt(look.Calls[i].Answer); work > MostWork && !batch.Atomic {
			return errDear(work)
		}
	}
	for i := range batch.Calls {
		if n := len(batch.Calls[i].Args); n >= wordyWords {
			batch.Work += workPerWord * int64(n)
		}
	}
	batch.Slow = batch.Slow || batch.Work >= 2*maxWork
	most := int64(mostForwarded)
	if batch.Atomic && !batch.Looks() { // a pipeline of reads may be Atomic too
		most = MostWork
	}
	switch {
	case batch.Work <= most:
		return nil
	case batch.Atomic:
		return errExecDear(batch.Work)
	}
	return errDear(batch.Work)
}

// WorkOf returns the total work that the calls of look estimate, see spec.Command.SetWork.
func (h *Handler) WorkOf(look *engine.Batch) (work int64) {
	if len(look.Calls) == 0 {
		return 0
	}
	defer fatal.OnPanic()
	h.config.Engine().Look(h.config.Clock.Now(), look)
	for i := range look.Calls {
		n, _, _ := answer.TakeInt(look.Calls[i].Answer)
		work += n
	}
	return work
}

// full reports whether no more commands should be gathered because of their weight.
func (s *Session) full() bool {
	most := batchWeight
	if s.inFlight {
		most *= inFlightShare
	}
	return s.g.weight >= most || s.g.batch.Work >= maxWork
}

// spend adds the time since began to Spent, for a batch.
func (s *Session) spend(began int64, l load) {
	until := s.active.Load()
	if l.weight >= timedWeight {
		until = s.h.sinceStart()
	}
	s.spent += until - began
}

// Spent returns how long callers of Do and Flush have executed commands since the session began,
// in nanoseconds. Batches in flight are not included.
func (s *Session) Spent() int64 { return s.spent }

// MayBeLong reports whether the work for a command grows with the values that it uses.
func (s *Session) MayBeLong(args [][]byte) bool {
	c := s.h.registry.Find(args[0], nil)
	return c != nil && c.HasWork
}
