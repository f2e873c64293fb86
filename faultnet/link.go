package faultnet

import (
	"net"
	"sync"
	"time"
)

// A link is one direction between two hosts, for all of their connections.
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

// heal puts the link up.
func (l *link) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.up:
	default:
		close(l.up)
	}
}

// pass waits while the link is cut. It is false if done was closed meanwhile.
func (l *link) pass(done <-chan struct{}) bool {
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

// slow has whatever is sent from now on take so long.
func (l *link) slow(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay
}

// arrival is when what is sent now arrives, if the link is up then.
func (l *link) arrival() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Add(l.delay)
}

// A parcel is what was read at once.
type parcel struct {
	bytes   []byte
	arrives time.Time
}

const (
	parcelBytes = 32 << 10
	// onTheWay is how many parcels a direction of a connection holds; then it is
	// not read any further, as if the window were full.
	onTheWay = 32
)

// carry passes on what src sends, and its end, by way of l until both are over.
// back is the link of the other direction, on which src learns that dst is gone.
func (n *Network) carry(src, dst *net.TCPConn, l, back *link) {
	var (
		parcels   = make(chan parcel, onTheWay)
		delivered = make(chan struct{})
	)
	n.live.Go(func() {
		defer close(delivered)
		n.deliver(parcels, src, dst, l, back)
	})
	for {
		bytes := make([]byte, parcelBytes)
		got, err := src.Read(bytes)
		if got > 0 {
			parcels <- parcel{bytes[:got], l.arrival()}
		}
		if err != nil {
			break
		}
	}
	close(parcels)
	<-delivered
}

// deliver writes what carry has read once it arrives, and then the end. It takes
// all parcels there are.
func (n *Network) deliver(parcels <-chan parcel, src, dst *net.TCPConn, l, back *link) {
	for p := range parcels {
		if !n.wait(p.arrives) || !l.pass(n.closed) {
			break
		}
		if _, err := dst.Write(p.bytes); err != nil {
			back.pass(n.closed)
			src.SetLinger(0) // it is told that what it sends arrives nowhere
			src.Close()
			break
		}
	}
	for range parcels { // of an end that is gone
	}
	if l.pass(n.closed) {
		dst.CloseWrite()
	}
}

// wait waits until a time. It is false if the network was closed meanwhile.
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
