package access

import "sync"

// A SiteLimiter is a semaphore with a bound for all and a bound per site, so that no
// single site uses it up. Concurrency: any goroutine may use it.
type SiteLimiter struct {
	maxTotal, maxPerSite int

	mu      sync.Mutex
	total   int
	perSite map[string]int // by site
}

// NewSiteLimiter returns a semaphore with a bound for all sites together, and a bound per
// site.
func NewSiteLimiter(maxTotal, maxPerSite int) *SiteLimiter {
	return &SiteLimiter{maxTotal: maxTotal, maxPerSite: maxPerSite, perSite: map[string]int{}}
}

// Acquire takes a slot and returns true, if a slot is free.
func (p *SiteLimiter) Acquire(site string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total >= p.maxTotal || p.perSite[site] >= p.maxPerSite {
		return false
	}
	p.total++
	p.perSite[site]++
	return true
}

// Release returns a slot that Acquire took.
func (p *SiteLimiter) Release(site string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total--
	if p.perSite[site]--; p.perSite[site] == 0 {
		delete(p.perSite, site)
	}
}

// Len is the number of slots taken.
func (p *SiteLimiter) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}
