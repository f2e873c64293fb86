package replication

// A longMutex is a mutex whose holder may wait for a disk or for other nodes. In a bubble of
// testing/synctest, a goroutine that waits for a longMutex is idle. A goroutine that waits for a
// sync.Mutex would stop virtual time, and with it the holder's timers. Concurrency: any
// goroutine.
type longMutex chan struct{}

func newLongMutex() longMutex { return make(longMutex, 1) }

func (m longMutex) Lock()   { m <- struct{}{} }
func (m longMutex) Unlock() { <-m }
