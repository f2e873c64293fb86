package admin

import "sync"

// A siteLimiter is a semaphore with a bound for all and a bound per site, so that no
// single site uses it up. Concurrency: any goroutine may use it.
type siteLimiter struct {
	maxTotal, maxPerSite int

	mu      sync.Mutex
	total   int
	perSite map[string]int // by site
}

func newSiteLimiter(maxTotal, maxPerSite int) *siteLimiter {
	return &siteLimiter{maxTotal: maxTotal, maxPerSite: maxPerSite, perSite: map[string]int{}}
}

// acquire takes a slot and returns true, if one is free.
func (p *siteLimiter) acquire(site string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total >= p.maxTotal || p.perSite[site] >= p.maxPerSite {
		return false
	}
	p.total++
	p.perSite[site]++
	return true
}

func (p *siteLimiter) release(site string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total--
	if p.perSite[site]--; p.perSite[site] == 0 {
		delete(p.perSite, site)
	}
}
