package server

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"limitsrv/commands/auth"
)

const (
	// logEvery is the shortest time between two lines of the same sampledLog about a site.
	logEvery = time.Second
	// maxSites is the number of sites counted separately; all other sites share otherSites.
	maxSites   = 8
	otherSites = "others"
)

// A sampledLog logs events that unauthenticated clients can cause at any rate. In logEvery
// it writes a line for each of maxSites sites and a line for all other sites, with the
// number of events and the last event. Concurrency: any goroutine may use it.
type sampledLog struct {
	text string

	mu    sync.Mutex
	sites map[string]*siteLog // by auth.SiteOf
}

// A siteLog counts the events of a site.
type siteLog struct {
	n           int // since the last line
	client, why string
	logged      time.Time
}

// add counts an event.
func (c *sampledLog) add(client, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	site := auth.SiteOf(client)
	if c.sites[site] == nil && len(c.sites) >= maxSites {
		site = otherSites
	}
	entry := c.sites[site]
	if entry == nil {
		if c.sites == nil {
			c.sites = make(map[string]*siteLog)
		}
		entry = new(siteLog)
		c.sites[site] = entry
	}
	entry.n++
	entry.client, entry.why = client, why
}

// flush writes a line for each site with events since its last line, unless that is less
// than logEvery ago, and drops the sites without events.
func (c *sampledLog) flush(log *slog.Logger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for _, site := range slices.Sorted(maps.Keys(c.sites)) {
		entry := c.sites[site]
		switch {
		case now.Sub(entry.logged) < logEvery:
		case entry.n == 0:
			delete(c.sites, site)
		default:
			log.Warn(c.text, "times", entry.n, "client", entry.client, "why", entry.why)
			entry.n, entry.logged = 0, now
		}
	}
}
