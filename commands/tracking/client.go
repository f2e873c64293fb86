package tracking

import (
	"strings"

	"limitsrv/commands/resp"
)

// A Client is a connection that may track keys. Its Table guards it.
type Client struct {
	id       int64
	send     func(resp.Message)
	on       bool
	options  Mode
	prefixes map[string]struct{}
}

// A Mode is how a client tracks.
type Mode struct {
	Broadcast bool // all keys with a prefix, not only those that the client reads
	NoLoop    bool // not the keys that the client itself changes
}

// NewClient makes a client that does not track. send sends it a message. It must not block, nor
// call the table.
func NewClient(id int64, send func(resp.Message)) *Client {
	return &Client{id: id, send: send, prefixes: map[string]struct{}{}}
}

// ignores reports whether the client wants no message about a change of an origin.
func (c *Client) ignores(origin int64) bool { return c.options.NoLoop && origin == c.id }

// hears reports whether a key has one of the client's prefixes.
func (c *Client) hears(key []byte) bool {
	for p := range c.prefixes {
		if strings.HasPrefix(string(key), p) {
			return true
		}
	}
	return false
}
