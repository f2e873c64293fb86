package persist

import "sync"

// progressEvery is how many bytes of blocks are between two reports.
const progressEvery = 4 << 20

// A snapshotProgress adds up how far several are together, and reports it.
type snapshotProgress struct {
	tell Progress // nil: there is nobody to tell
	keys int64

	mu          sync.Mutex
	bytes, told int64
	share       float64 // of the keys that are done, 0 to 1, an estimate
}

// add counts a block, and the share of all keys that are done with it.
func (p *snapshotProgress) add(bytes int64, share float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes += bytes
	p.share += share
	if p.tell != nil && p.bytes-p.told >= progressEvery {
		p.told = p.bytes
		p.tell(int64(min(max(p.share, 0), 1)*float64(p.keys)), p.keys, p.bytes)
	}
}

// done reports that all is done.
func (p *snapshotProgress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tell != nil {
		p.tell(p.keys, p.keys, p.bytes)
	}
}
