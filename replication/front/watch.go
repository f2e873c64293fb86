package front

import (
	"context"
	"errors"

	"limitsrv/replication/fronts"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
)

// errRewatch ends a call that must be made again because the front wants other news.
var errRewatch = errors.New("the front wants other news")

// watch takes the news of the leader until a call fails, and returns the reason. The news of a call
// without a reply are lost, so the next call is a first.
func (n *Front) watch(ctx context.Context, leader storage.Server) error {
	caller := n.links.NewCaller()
	caller.Once = true
	defer caller.Close()
	for first := true; ; {
		q := fronts.WatchRequest{First: first, Lists: n.o.Notices.Watchers() > 0}
		var w fronts.Watched
		err := n.watchOnce(ctx, caller, leader, q, &w)
		switch {
		case err == nil:
			first = false
			n.note(&w)
		case ctx.Err() == nil && errors.Is(err, errRewatch):
			first = true
		default:
			return err
		}
	}
}

// watchOnce makes a call. It returns errRewatch if stopWatch ended it.
func (n *Front) watchOnce(ctx context.Context, caller *link.Caller, leader storage.Server, q fronts.WatchRequest,
	w *fronts.Watched) error {
	over, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bounded, end := context.WithTimeout(over, n.timeout()+n.o.ElectionTimeout/2)
	defer end()
	n.mu.Lock()
	n.rewatch = func() { cancel(errRewatch) }
	n.mu.Unlock()
	if q.Lists != (n.o.Notices.Watchers() > 0) {
		return errRewatch
	}
	err := caller.Call(bounded, leader.Raft, fronts.CallWatch, q, w)
	if err != nil && context.Cause(over) == errRewatch {
		return errRewatch
	}
	return err
}

// stopWatch ends the call in flight.
func (n *Front) stopWatch() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.rewatch != nil {
		n.rewatch()
	}
}

// note takes the news of the leader.
func (n *Front) note(w *fronts.Watched) {
	n.clock.set(w.Now)
	n.mu.Lock()
	n.heard = n.mono()
	if w.Counts != nil {
		n.counts = *w.Counts
	}
	messages, grown, missed := w.Messages, w.Grown, w.Missed
	n.news = *w
	n.news.Messages, n.news.Grown, n.news.Counts = nil, nil, nil
	n.mu.Unlock()
	var servers []storage.Server
	for _, node := range w.Nodes {
		servers = append(servers, storage.Server{Node: node.ID, Raft: node.Raft})
	}
	n.setNodes(servers)
	n.wantTexts()
	if deliver := n.published.Load(); deliver != nil {
		for _, m := range messages {
			(*deliver)(m.Channel, m.Text)
		}
	}
	switch {
	case missed:
		n.o.Notices.Grew(nil)
	case len(grown) > 0:
		n.o.Notices.Grew(grown)
	}
}

// Publish sends a message to the clients of the nodes, and of the other fronts. It does not block.
func (n *Front) Publish(channel, message []byte) { n.messages.Send(channel, message) }

// HandlePublished sets the function that gets the messages for clients: of the nodes, of other
// fronts, and of scripts. deliver must not keep the bytes and must not block.
func (n *Front) HandlePublished(deliver func(channel, message []byte)) { n.published.Store(&deliver) }
