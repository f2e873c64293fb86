package link

import (
	"bufio"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
)

// A sealedConn encrypts and authenticates all bytes of a connection. They go in records:
// the length of the rest in 2 bytes, then a ciphertext of AES-GCM with its tag. The nonce
// is the number of the record in its direction, which has a key of its own, so a record
// that was changed, repeated, omitted or moved fails to open, and the connection closes.
// The end of the connection is not authenticated: frames carry their own lengths.
type sealedConn struct {
	net.Conn
	onTampered func() // called once, when a record fails to open

	writing  sync.Mutex
	seal     sealer
	out      []byte // to be written before the next record; memory for later records
	writeErr error  // of a write; after it the other side can open nothing

	open    sealer
	in      *bufio.Reader
	skip    int    // bytes of in used by the last record
	left    []byte // unread plaintext, in the memory of in
	readErr error
}

const (
	recordHead = 2
	recordTag  = 16
	// maxRecord bounds the plaintext of a record.
	maxRecord = 16 << 10
	// recordsAtOnce is the number of bytes encrypted before a write, if there are so many.
	recordsAtOnce = 4 * maxRecord
	// recordsRead is the number of bytes read at once: two records.
	recordsRead = 2 * (recordHead + maxRecord + recordTag)
)

// errTampered is the error of a record that fails to open.
var errTampered = errors.New("a record of the link failed authentication: it was changed, repeated or moved in transit")

// A sealer is a direction of a link: its key, and the nonce of the next record.
type sealer struct {
	aead  cipher.AEAD
	nonce [12]byte
}

// advance increments the nonce. A link would take millennia to wrap it.
func (s *sealer) advance() {
	n := s.nonce[len(s.nonce)-8:]
	binary.BigEndian.PutUint64(n, binary.BigEndian.Uint64(n)+1)
}

// newSealedConn returns a sealedConn that sends first, unencrypted, together with the
// first record.
func newSealedConn(conn net.Conn, keys sessionKeys, first []byte, broken func()) *sealedConn {
	return &sealedConn{
		Conn: conn, onTampered: broken, out: first,
		seal: sealer{aead: keys.send}, open: sealer{aead: keys.receive},
		in: bufio.NewReaderSize(conn, recordsRead),
	}
}

// Write encrypts and writes data. Concurrency: it may run beside Read.
func (c *sealedConn) Write(data []byte) (n int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for n < len(data) {
		if c.writeErr != nil {
			return n, c.writeErr
		}
		taken := n
		for taken < len(data) && len(c.out) < recordsAtOnce {
			part := data[taken:min(taken+maxRecord, len(data))]
			c.out = binary.BigEndian.AppendUint16(c.out, uint16(len(part)+recordTag))
			c.out = c.seal.aead.Seal(c.out, c.seal.nonce[:], part, c.out[len(c.out)-recordHead:])
			c.seal.advance()
			taken += len(part)
		}
		_, c.writeErr = c.Conn.Write(c.out)
		c.out = c.out[:0]
		if c.writeErr != nil {
			return n, c.writeErr
		}
		n = taken
	}
	return n, nil
}

// Read returns all received bytes that fit, and blocks only for the first.
func (c *sealedConn) Read(data []byte) (n int, err error) {
	for len(c.left) == 0 && len(data) > 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	for {
		copied := copy(data[n:], c.left)
		c.left = c.left[copied:]
		n += copied
		if n == len(data) || !c.ready() || c.next() != nil {
			return n, nil // an error is returned by the next call
		}
	}
}

// ready reports whether the next record can be opened without blocking.
func (c *sealedConn) ready() bool {
	buffered := c.in.Buffered() - c.skip
	if buffered < recordHead {
		return false
	}
	head, err := c.in.Peek(c.skip + recordHead)
	return err == nil && int(binary.BigEndian.Uint16(head[c.skip:])) <= buffered-recordHead
}

// next opens the next record. A record that is incomplete at a read deadline is kept for
// the next call.
func (c *sealedConn) next() error {
	if c.readErr != nil {
		return c.readErr
	}
	c.in.Discard(c.skip) // these bytes are buffered
	c.skip = 0
	head, err := c.in.Peek(recordHead)
	if err != nil {
		return c.endError(err)
	}
	n := int(binary.BigEndian.Uint16(head))
	if n <= recordTag || n > maxRecord+recordTag {
		return c.breakOff()
	}
	record, err := c.in.Peek(recordHead + n)
	if err != nil {
		return c.endError(err)
	}
	c.left, err = c.open.aead.Open(record[recordHead:recordHead], c.open.nonce[:], record[recordHead:],
		record[:recordHead])
	if err != nil {
		return c.breakOff()
	}
	c.open.advance()
	c.skip = recordHead + n
	return nil
}

// endError returns the error of a connection that ended within or after a record.
func (c *sealedConn) endError(err error) error {
	if errors.Is(err, io.EOF) && c.in.Buffered() > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

// breakOff closes the connection after a record failed to open.
func (c *sealedConn) breakOff() error {
	c.left, c.readErr = nil, errTampered
	c.onTampered()
	c.Conn.Close()
	return errTampered
}
