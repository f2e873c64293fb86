package resp

// A Message is an out-of-band message in the form of each protocol. It is made once and
// sent to many clients. Immutable.
type Message struct{ Two, Three []byte }

// NewMessage makes a push of strings; RESP2: an array.
func NewMessage(words ...[]byte) Message {
	var w Writer
	w.Push(len(words))
	head := len(w.Buf)
	for _, word := range words {
		w.Bulk(word)
	}
	three := append([]byte{'>'}, w.Buf[1:head]...)
	return Message{Two: w.Buf, Three: append(three, w.Buf[head:]...)}
}

// In returns the bytes of the message in RESP3 or RESP2.
func (m Message) In(proto3 bool) []byte {
	if proto3 {
		return m.Three
	}
	return m.Two
}
