package front

import (
	"context"
	"sync"

	"limitsrv/replication/link"
)

// callers are kept links for calls. Concurrency: any goroutine.
type callers struct {
	links *link.Links
	mu    sync.Mutex
	idle  []*link.Caller
}

// maxIdle bounds the kept links.
const maxIdle = 4

// call makes a call over a kept link, or over a new link.
func (c *callers) call(ctx context.Context, address, name string, request, reply any) error {
	c.mu.Lock()
	var k *link.Caller
	if last := len(c.idle) - 1; last >= 0 {
		k, c.idle = c.idle[last], c.idle[:last]
	} else {
		k = c.links.NewCaller()
	}
	c.mu.Unlock()
	err := k.Call(ctx, address, name, request, reply)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle) < maxIdle {
		c.idle = append(c.idle, k)
	} else {
		k.Close()
	}
	return err
}

// close closes the kept links.
func (c *callers) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.idle {
		k.Close()
	}
}
