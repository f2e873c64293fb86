package session

import (
	"sync"

	"limitsrv/commands/resp"
)

// A Constant is a reply that depends on nothing but the protocol: it is rendered once for each
// protocol, because rendering a large reply takes a hundred times as long as copying it. Its
// zero value is not rendered. Concurrency: any goroutine may use it.
type Constant struct {
	once    [2]sync.Once // for RESP2 and RESP3
	replies [2][]byte
}

// Write writes the reply, as render writes it. Requires: render is the same for all calls.
func (c *Constant) Write(w *resp.Writer, render func(w *resp.Writer)) {
	i := 0
	if w.Proto3 {
		i = 1
	}
	c.once[i].Do(func() {
		only := resp.Writer{Proto3: w.Proto3}
		render(&only)
		c.replies[i] = only.Buf
	})
	w.Buf = append(w.Buf, c.replies[i]...)
}
