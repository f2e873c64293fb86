package server

import (
	"log/slog"
	"sync"
	"time"
)

// complainEvery is how often complaints of one kind are logged at most.
const complainEvery = time.Second

// complaints are about what strangers do, who may do it as often as they like: the log
// gets one line of a kind in complainEvery, with how many there were and the last.
type complaints struct {
	text string

	mu     sync.Mutex
	n      int
	client string
	why    string
	logged time.Time
}

// note adds one. Any goroutine may call it.
func (c *complaints) note(client, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	c.client, c.why = client, why
}

// report logs those that came since the last time, unless that was a moment ago.
func (c *complaints) report(log *slog.Logger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.n > 0 && now.Sub(c.logged) >= complainEvery {
		log.Warn(c.text, "times", c.n, "client", c.client, "why", c.why)
		c.n, c.logged = 0, now
	}
}
