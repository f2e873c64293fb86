package engine

type scratch struct{}

var algorithms = [...]struct{ name string }{{"TOKEN"}}

// Options configure an Engine.
type Options struct {
	// Shards is a power of two, 1 to 1024; 0 means 64.
	Shards int
	// Seed keys the hash of the keys, so that nobody outside can aim at a shard.
	Seed [16]byte
	// MaxMemory bounds MemoryBytes; 0 means no bound.
	MaxMemory int64
	// Evict drops the key nearest to its reset where a new key finds no memory; otherwise the new key is refused.
	Evict bool
}
type Engine struct{}

func New(o Options) *Engine { panic("seam") }

// Apply carries out a batch at now. Many may call at once.
func (e *Engine) Apply(now Instant, b *Batch) { panic("seam") }

// Sweep looks at up to pages pages (about 64 keys each) and forgets rested keys; it goes on where the last call stopped.
func (e *Engine) Sweep(now Instant, pages int) (forgotten int) { panic("seam") }

// Scan calls visit for the live keys from cursor on in hash order, until at least count were seen; returns the next cursor, 0 at the end. A key that is there throughout a whole scan is visited at least once. key is valid during visit only.
func (e *Engine) Scan(now Instant, cursor uint64, count int, visit func(key []byte, alg Alg)) uint64 {
	panic("seam")
}

// KeyBytes is the memory of a live key, 0 if there is none.
func (e *Engine) KeyBytes(now Instant, key []byte) int64 { panic("seam") }

// Fingerprint changes whenever the state of the key does, but for the passing of time.  0 for a key that is not there. For WATCH.
func (e *Engine) Fingerprint(now Instant, key []byte) int64 { panic("seam") }
func (e *Engine) Len() int64                                { panic("seam") }
func (e *Engine) Stats() Stats                              { panic("seam") }

// Stats are totals since the start.
type Stats struct {
	Keys, MemoryBytes           int64
	Allowed, Denied             [6]int64 // by Alg
	ShadowDenied                int64
	Forgotten, Evicted, Refused int64 // rested keys swept; live keys evicted; ops refused for memory
}
