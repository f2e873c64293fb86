package persist

import "sync"

// progressEvery is the number of bytes of blocks between two reports.
const progressEvery = 4 << 20

// A snapshotProgress sums the progress of parallel workers and reports it.
type snapshotProgress struct {
	report Progress // nil: no reports
	keys   int64

	mu              sync.Mutex
	bytes, reported int64
	share           float64 // estimated fraction of the keys that are done, 0 to 1
}

// add counts a block that covers a fraction of all keys.
func (p *snapshotProgress) add(bytes int64, share float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes += bytes
	p.share += share
	if p.report != nil && p.bytes-p.reported >= progressEvery {
		p.reported = p.bytes
		p.report(int64(min(max(p.share, 0), 1)*float64(p.keys)), p.keys, p.bytes)
	}
}

// done reports completion.
func (p *snapshotProgress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.report != nil {
		p.report(p.keys, p.keys, p.bytes)
	}
}
