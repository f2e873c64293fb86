package front

import (
	"context"
	"errors"
	"time"

	"limitsrv/replication/fronts"
	"limitsrv/replication/link"
)

// copyTimeout is a bound for long answers, beside the bound of a short call.
const copyTimeout = 5 * time.Second

// leaderCall makes a call of the leader. While there is no leader it tries again, as long as a request
// waits, and no longer than that after the last leader was lost. again: a call without an answer may be
// made again. Such a call ends with its leader.
func (n *Front) leaderCall(ctx context.Context, again bool, name string, request, reply any) error {
	hold, cancel := context.WithTimeout(ctx, n.hold())
	defer cancel()
	for {
		if leader, leads := n.leading(); leader.Raft != "" {
			if !again {
				leads = ctx
			}
			err := n.callWhile(leads, ctx, leader.Raft, name, request, reply)
			var coded *link.Error
			switch {
			case err == nil || ctx.Err() != nil:
				return err
			case link.IsNotCalled(err), errors.Is(err, link.ErrUnanswered) && again:
			case errors.As(err, &coded) && coded.Code() == "CLUSTERDOWN":
			default:
				return err
			}
			n.suspect()
		}
		if n.isLost() {
			return n.noLeaderError()
		}
		select {
		case <-time.After(findAgain):
		case <-hold.Done():
			if n.stopping.Err() != nil {
				return errStopped
			}
			return n.noLeaderError()
		}
	}
}

// callWhile makes a call of a node, as long as it leads.
func (n *Front) callWhile(leads, ctx context.Context, address, name string, request, reply any) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(leads, cancel)()
	return n.callers.call(ctx, address, name, request, reply)
}

// Fresh calls done exactly once, from any goroutine. If the error is nil, the counts and the texts
// of this front are at least as new as any answer that a node gave before the call, and the clients have
// been told of the keys that had changed. Cost: a call of the leader for all waiting callers.
func (n *Front) Fresh(done func(error)) { n.fresh.Add(done) }

// freshen reads the counts of the leader, and waits until the front has its texts.
func (n *Front) freshen() error {
	var r fronts.Read
	ctx, cancel := context.WithTimeout(n.stopping, n.hold()+copyTimeout)
	defer cancel()
	lost, asked := n.changes.losses(), n.clock.mono()
	err := n.leaderCall(ctx, true, fronts.CallRead, fronts.ReadRequest{Kind: fronts.ReadCounts}, &r)
	if err != nil || r.Counts == nil {
		return err
	}
	n.clock.heard(r.Now, asked)
	copied := make(chan struct{})
	n.mu.Lock()
	n.counts = *r.Counts
	has := n.hasTexts(r.Marks)
	if !has {
		copy(n.news.Marks[:], r.Marks)
		n.copiers = append(n.copiers, copier{r.Marks, func() { close(copied) }})
	}
	n.mu.Unlock()
	if !has {
		n.wantTexts()
		select {
		case <-copied:
		case <-ctx.Done():
			return n.noLeaderError()
		}
	}
	if n.o.Notices.Tracks() && !n.changes.await(ctx, r.Told, lost) {
		return n.noLeaderError()
	}
	return nil
}

// mostAsks bounds the calls of Ask in flight. Further ones wait.
const mostAsks = 256

// Ask has the leader answer command lines, and calls done once, from another goroutine. If ctx ends
// first, the error is the cause of the end.
func (n *Front) Ask(ctx context.Context, q fronts.Asked, done func(replies [][]byte, err error)) {
	go func() {
		a, err := n.ask(ctx, q)
		var coded *link.Error
		switch {
		case err == nil && len(a.Replies) != len(q.Lines):
			err = errSilent
		case err != nil && n.stopping.Err() != nil:
			err = errStopped
		case err != nil && ctx.Err() != nil:
			err = context.Cause(ctx)
		case err != nil && !errors.As(err, &coded):
			err = link.NewError("ERR", err.Error())
		}
		done(a.Replies, err)
	}()
}

// ask has the leader answer command lines, once fewer than mostAsks calls are in flight.
func (n *Front) ask(ctx context.Context, q fronts.Asked) (a fronts.Answered, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.stopping, cancel)()
	select {
	case n.asks <- struct{}{}:
	case <-ctx.Done():
		return a, ctx.Err()
	}
	defer func() { <-n.asks }()
	err = n.leaderCall(ctx, true, fronts.CallAsk, q, &a)
	return a, err
}

// read makes a read of the leader. It blocks for a bounded time. Without an answer the result is
// empty, and the error is logged too.
func (n *Front) read(q fronts.ReadRequest) (r fronts.Read, err error) {
	ctx, cancel := context.WithTimeout(n.stopping, n.hold()+copyTimeout)
	defer cancel()
	if err = n.leaderCall(ctx, true, fronts.CallRead, q, &r); err != nil && n.logOnce.Allow("read") {
		n.log.Warn("the leader can't be asked for keys", "error", err)
	}
	return r, err
}
