package engine

import (
	"sync"
	"sync/atomic"
)

// MaxChannelBytes bounds the name of a channel.
const MaxChannelBytes = 256

// Notices hold the messages that calls publish, the lists that calls lengthen, and the keys that
// ops change, until the clients of this node get them. Apply adds the notices of a batch with
// Batch.Notices, in the order of the calls. Then the caller of Apply calls Send. Notices are not
// part of the state, and a replay makes no notices.
//
// Concurrency: any number of goroutines may use it. Its zero value is ready, and so is nil,
// which drops all messages.
type Notices struct {
	waiting atomic.Int64 // messages that are not sent yet
	grown   grownLists
	changed changedKeys

	mu   sync.Mutex
	list messages // guarded by mu

	sending sync.Mutex // held while messages are sent, so that they stay in order
	spare   messages   // guarded by sending
	deliver atomic.Pointer[func(channel, message []byte)]
	applied atomic.Pointer[func()]
	relay   atomic.Pointer[Relay]
	first   atomic.Pointer[func()] // see HandleFirst; nil: not set
}

// A Relay gets the same as the clients of this node, for the clients of nodes without state. Its
// functions are called as those of Handle, HandleGrowth and HandleApplied. They are set.
type Relay struct {
	Message func(channel, message []byte)
	Grown   func([]Growth)
	Changed func([]Change)
	Applied func()
}

// HandleRelay sets the Relay.
func (n *Notices) HandleRelay(r *Relay) { n.relay.Store(r) }

// HandleFirst sets the function that Watch and Track call when their number of clients has risen from 0.
// It must not block.
func (n *Notices) HandleFirst(first func()) { n.first.Store(&first) }

// rise adds to a number of clients, and calls the function of HandleFirst if the number was 0.
func (n *Notices) rise(number *atomic.Int64, clients int64) {
	if number.Add(clients) != clients || clients < 0 {
		return
	}
	if first := n.first.Load(); first != nil {
		(*first)()
	}
}

// messages are channels and texts, stored in turn in bytes.
type messages struct {
	bytes []byte
	ends  []int // in bytes: of a channel, of its text, and so on
}

func (l *messages) each(yield func(channel, message []byte)) {
	from := 0
	for i := 0; i < len(l.ends); i += 2 {
		channelEnd, end := l.ends[i], l.ends[i+1]
		yield(l.bytes[from:channelEnd], l.bytes[channelEnd:end])
		from = end
	}
}

// maxKeptMessages is the memory of messages, in bytes, that is kept for the next messages.
const maxKeptMessages = 64 << 10

// Handle sets the function that gets the messages in their order, one at a time. It must
// not keep the bytes. It is called within Send, with no lock of an engine held. Until then
// messages are dropped.
func (n *Notices) Handle(deliver func(channel, message []byte)) { n.deliver.Store(&deliver) }

// HandleApplied sets the function that each Send calls first: after each Apply, and when
// another engine with a later state has replaced the engine. It is called at once as well,
// for the Applies before. It must not block. Concurrency: any number of goroutines may call
// the function at once.
func (n *Notices) HandleApplied(look func()) {
	n.applied.Store(&look)
	look()
}

// add adds a copy of a message.
func (n *Notices) add(channel, message []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &n.list
	l.bytes = append(l.bytes, channel...)
	l.ends = append(l.ends, len(l.bytes))
	l.bytes = append(l.bytes, message...)
	l.ends = append(l.ends, len(l.bytes))
	n.waiting.Add(1)
}

// HasMessages reports whether messages wait for Send.
func (n *Notices) HasMessages() bool { return n != nil && n.waiting.Load() > 0 }

// Send delivers the messages of all earlier Applies. When it returns, the messages of the caller's
// own Applies are delivered. Then it reports the lists and the keys, see Watch and Track. Cost if
// nothing waits: five loads and the functions of HandleApplied and of the Relay.
func (n *Notices) Send() {
	if n == nil {
		return
	}
	if look := n.applied.Load(); look != nil {
		(*look)()
	}
	relay := n.relay.Load()
	if relay != nil {
		relay.Applied()
	}
	if n.waiting.Load() > 0 {
		n.sendMessages(relay)
	}
	if n.grown.waiting.Load() > 0 {
		n.grown.report(relay)
	}
	if n.changed.waiting.Load() > 0 {
		n.changed.report(relay)
	}
}

func (n *Notices) sendMessages(relay *Relay) {
	n.sending.Lock()
	defer n.sending.Unlock()
	n.mu.Lock()
	l := n.list
	n.list = n.spare
	n.mu.Unlock()
	if deliver := n.deliver.Load(); deliver != nil {
		l.each(*deliver)
	}
	if relay != nil {
		l.each(relay.Message)
	}
	n.waiting.Add(-int64(len(l.ends) / 2))
	n.spare = messages{}
	if cap(l.bytes) <= maxKeptMessages {
		n.spare = messages{l.bytes[:0], l.ends[:0]}
	}
}
