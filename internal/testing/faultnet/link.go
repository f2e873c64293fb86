package faultnet

import (
	"net"
	"sync"
	"time"
)

// A link is a direction between two hosts, shared by all their connections.
type link struct {
	mu    sync.Mutex
	up    chan struct{} // closed while the link is up
	delay time.Duration
}

func newLink() *link {
	l := &link{up: make(chan struct{})}
	close(l.up)
	return l
}

// cut cuts the link.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.up:
		l.up = make(chan struct{})
	default:
	}
}

// heal restores the link.
func (l *link) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.up:
	default:
		close(l.up)
	}
}

// waitUp blocks while the link is cut. It returns false if done was closed meanwhile.
func (l *link) waitUp(done <-chan struct{}) bool {
	for {
		l.mu.Lock()
		up := l.up
		l.mu.Unlock()
		select {
		case <-up:
		case <-done:
			return false
		}
		l.mu.Lock()
		same := up == l.up // not cut again since
		l.mu.Unlock()
		if same {
			return true
		}
	}
}

// setDelay sets the delay of data sent from now on.
func (l *link) setDelay(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay
}

// arrival returns the arrival time of data sent now, if the link is up then.
func (l *link) arrival() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Add(l.delay)
}

// A chunk is the result of a read.
type chunk struct {
	bytes   []byte
	arrives time.Time
}

const (
	chunkBytes = 32 << 10
	// maxInFlight is the number of chunks that a direction of a connection holds; then it
	// stops reading, like a full TCP window.
	maxInFlight = 32
)

// forward forwards the data of src and its end over l until both are closed. back is the
// opposite link: it reports to src that dst is closed.
func (n *Network) forward(src, dst *net.TCPConn, l, back *link) {
	var (
		chunks    = make(chan chunk, maxInFlight)
		delivered = make(chan struct{})
	)
	n.live.Go(func() {
		defer close(delivered)
		n.deliver(chunks, src, dst, l, back)
	})
	for {
		bytes := make([]byte, chunkBytes)
		got, err := src.Read(bytes)
		if got > 0 {
			chunks <- chunk{bytes[:got], l.arrival()}
		}
		if err != nil {
			break
		}
	}
	close(chunks)
	<-delivered
}

// deliver writes each chunk when it arrives, and then the end. It drains chunks.
func (n *Network) deliver(chunks <-chan chunk, src, dst *net.TCPConn, l, back *link) {
	for p := range chunks {
		if !n.wait(p.arrives) || !l.waitUp(n.closed) {
			break
		}
		if _, err := dst.Write(p.bytes); err != nil {
			back.waitUp(n.closed)
			src.SetLinger(0) // reset the connection: src must see that its data is not delivered
			src.Close()
			break
		}
	}
	for range chunks { // drain after an error
	}
	if l.waitUp(n.closed) {
		dst.CloseWrite()
	}
}

// wait blocks until a time. It returns false if the network was closed meanwhile.
func (n *Network) wait(until time.Time) bool {
	rest := time.Until(until)
	if rest <= 0 {
		return true
	}
	select {
	case <-time.After(rest):
		return true
	case <-n.closed:
		return false
	}
}
