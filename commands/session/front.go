package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/engine"
)

// asks reports whether another node answers a run command in place of this node.
func (s *Session) asks(c *Spec) bool { return c.Front == spec.FrontAsks && s.h.AtFront() }

// lineOf returns a copy of a line, which may outlive the session.
func (s *Session) lineOf(args [][]byte) backend.Line {
	line := backend.Line{DB: s.db}
	for _, arg := range args {
		line.Args = append(line.Args, slices.Clone(arg))
	}
	return line
}

// fetchFresh waits for Cluster.Fresh, has another node answer the lines of freshness, and then calls
// done. The other node waits for itself, so that a single line needs no Cluster.Fresh.
func (s *Session) fetchFresh() {
	next := func() { s.done(nil) }
	if len(s.fresh.lines) > 0 {
		ctx, cancel := context.WithTimeoutCause(s.h.serving, mostAsked, errUnanswered)
		s.fresh.cancel = cancel
		next = func() { s.fetch(ctx, cancel) }
	}
	if len(s.fresh.lines) > 0 && !s.tx.running {
		next()
		return
	}
	s.h.config.Cluster.Fresh(func(err error) {
		if s.fresh.err = err; err != nil {
			if s.fresh.cancel != nil {
				s.fresh.cancel()
			}
			s.done(nil)
			return
		}
		s.h.config.Rules.Await(next)
	})
}

// mostAsked bounds the time until another node has answered. It is longer than the longest wait of a
// command, the minute of WAIT.
const mostAsked = 65 * time.Second

var errUnanswered = resp.NewError("CLUSTERDOWN", "no other node has answered")

// fetch has another node answer the lines of freshness, and then calls done. ctx ends with the session.
func (s *Session) fetch(ctx context.Context, cancel context.CancelFunc) {
	q := backend.Asked{Proto3: s.w.Proto3, InExec: s.tx.running, Lines: s.fresh.lines}
	s.h.config.Ask(ctx, q, func(replies [][]byte, err error) {
		cancel()
		s.fresh.replies, s.fresh.err = replies, err
		s.done(nil)
	})
}

var (
	// errNotAsked answers a front of another version.
	errNotAsked    = resp.NewError("ERR", "a node does not answer this command for a front")
	errManyAnswers = resp.NewError("ERR", fmt.Sprintf("the answers of SCAN, KEYS and the like in a transaction at a "+
		"front have at most %d bytes together: send fewer at a time", engine.MaxAnswerBytes))
)

// Answer answers lines of run commands for a node without keys. It blocks, for as long as the
// commands wait, or until ctx ends. It checks no rights: the other node has done so. Concurrency:
// any goroutine may call it. The answers together have at most engine.MaxAnswerBytes, unless it is one
// line. Further lines are answered with an error. Long answers wait for room.
func (h *Handler) Answer(ctx context.Context, q backend.Asked) (replies [][]byte, err error) {
	woken := make(chan struct{}, 1)
	s := h.NewSession(Client{Addr: "front", Since: time.Now(), Close: func() {}, Wake: func() { woken <- struct{}{} }})
	defer s.Close()
	s.w.Proto3 = q.Proto3
	if h.mayBeLong(q.Lines) {
		if err := h.room.hold(ctx, engine.MaxAnswerBytes); err != nil {
			return nil, err
		}
		defer h.room.Add(-engine.MaxAnswerBytes)
	}
	var over resp.Writer
	sum := 0
	over.Error(errManyAnswers)
	for _, line := range q.Lines {
		if sum > engine.MaxAnswerBytes {
			replies = append(replies, over.Buf)
			continue
		}
		reply, err := s.answerLine(ctx, woken, line, q.InExec)
		if err != nil {
			return nil, err
		}
		if sum += len(reply); sum > engine.MaxAnswerBytes && len(q.Lines) > 1 {
			reply = over.Buf
		}
		replies = append(replies, reply)
	}
	return replies, nil
}

// mayBeLong reports whether a line may have a long answer.
func (h *Handler) mayBeLong(lines []backend.Line) bool {
	return slices.ContainsFunc(lines, func(line backend.Line) bool {
		c, err := h.registry.Lookup(line.Args, nil)
		return err == nil && c.Long > 0 && len(line.Args) >= c.Long
	})
}

// answerLine answers a line of Answer. An error means that the answer does not come.
func (s *Session) answerLine(ctx context.Context, woken <-chan struct{}, line backend.Line, inExec bool) ([]byte,
	error) {
	c, err := s.h.registry.Lookup(line.Args, nil)
	if err == nil && c.Front != spec.FrontAsks {
		err = errNotAsked
	}
	if err != nil {
		return nil, err
	}
	s.db = line.DB
	resume := func() error {
		select {
		case <-woken:
			s.Resume()
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if !s.freshen(c, line.Args) {
		if err := resume(); err != nil {
			return nil, err
		}
	}
	s.tx.running = inExec
	s.begin()
	s.runFresh(c, line.Args)
	s.end()
	s.tx.running, s.fresh = false, freshness{}
	if s.deferred != nil {
		s.deferred.spec, s.deferred.args = c, line.Args
		if !s.state.CompareAndSwap(executing, away) {
			s.render()
		} else if err := resume(); err != nil {
			return nil, err
		}
	}
	reply := s.Out
	s.Out = nil
	return reply, nil
}
