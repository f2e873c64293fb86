package main

import (
	"context"
	"sync"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/events"
	"limitsrv/commands/session"
	sender "limitsrv/server/events"
)

// lastEvents bounds the time that a stop takes to list the last events, and to send them.
const lastEvents = 500 * time.Millisecond

// hasEvents reports whether this node notes events.
func (n *node) hasEvents() bool { return n.EventsURL != "" || n.EventsList }

// readEventSecrets reads the secrets of the signatures of events, if there are such secrets.
func (n *node) readEventSecrets() (err error) {
	if n.EventsURL != "" {
		n.eventSecrets, err = sender.OpenSecrets(n.EventsSecretFile, n.log)
	}
	return err
}

// setEvents makes the outbox of events the sink of c, if this node notes events.
func (n *node) setEvents(c *session.Config) {
	if !n.hasEvents() {
		return
	}
	n.outbox = events.New(events.Config{
		Executor: func() *backend.Executor { return n.handler.Executor() },
		Engine:   n.state.Engine, Clock: n.state, Log: n.log,
		Features: func() uint8 { return n.handler.Config().Cluster.Features() },
	})
	c.Events = n.outbox
}

// startEvents lists and sends events until stop is called, which lists and sends the events that are
// left, for at most lastEvents each.
func (n *node) startEvents() (stop func()) {
	if !n.hasEvents() {
		return func() {}
	}
	listing := startWithLast(n.outbox.Run)
	if n.EventsURL == "" {
		return listing
	}
	s := sender.New(sender.Config{URL: n.EventsURL, Secrets: n.eventSecrets.Current, List: n.outbox,
		Leads: n.handler.LoadsRules, Version: version, Log: n.log})
	sending := startWithLast(s.Run)
	return func() {
		listing()
		sending()
	}
}

// startWithLast calls run in a goroutine. stop ends the first context, and the second context
// lastEvents later, and waits until run returns.
func startWithLast(run func(ctx, last context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	last, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { run(ctx, last) })
	return func() {
		cancel()
		defer time.AfterFunc(lastEvents, end).Stop()
		running.Wait()
		end()
	}
}
