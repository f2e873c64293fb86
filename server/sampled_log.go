package server

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"limitsrv/commands"
)

const (
	// complainEvery is how often complaints of one kind about one site are logged at most.
	logEvery = time.Second
	// maxSites is how many sites are told apart meanwhile; the rest is otherSites.
	maxSites   = 8
	otherSites = "others"
)

// complaints are about unauthenticated clients, which may cause as many as they like:
// in complainEvery the log gets one line for each of maxSites sites, and one for the
// rest, with the number of complaints and the last of them. Many may use it at once.
type sampledLog struct {
	text string

	mu    sync.Mutex
	sites map[string]*siteLog // by commands.SiteOf
}

// A complaint is about one site.
type siteLog struct {
	n           int // since the last line
	client, why string
	logged      time.Time
}

// note adds one.
func (c *sampledLog) add(client, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	site := commands.SiteOf(client)
	if c.sites[site] == nil && len(c.sites) >= maxSites {
		site = otherSites
	}
	about := c.sites[site]
	if about == nil {
		if c.sites == nil {
			c.sites = make(map[string]*siteLog)
		}
		about = new(siteLog)
		c.sites[site] = about
	}
	about.n++
	about.client, about.why = client, why
}

// report logs the complaints since the last line about each site, unless that was
// logged a moment ago, and forgets the sites without any.
func (c *sampledLog) flush(log *slog.Logger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for _, site := range slices.Sorted(maps.Keys(c.sites)) {
		about := c.sites[site]
		switch {
		case now.Sub(about.logged) < logEvery:
		case about.n == 0:
			delete(c.sites, site)
		default:
			log.Warn(c.text, "times", about.n, "client", about.client, "why", about.why)
			about.n, about.logged = 0, now
		}
	}
}
