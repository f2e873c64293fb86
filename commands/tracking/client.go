package tracking

import (
	"strings"

	"limitsrv/commands/resp"
)

// A Client is a connection that may track keys. The mutex of its [Table] guards it.
type Client struct {
	id       int64
	send     func(resp.Message)
	on       bool
	options  Mode
	prefixes map[string]struct{}
}

// A Mode tells which changes a client receives.
type Mode struct {
	Broadcast bool // all keys with one of its prefixes, instead of the keys that it reads
	NoLoop    bool // except changes by the client itself
}

// NewClient returns a client that does not track. send sends it a message; it must not block or
// call the table.
func NewClient(id int64, send func(resp.Message)) *Client {
	return &Client{id: id, send: send, prefixes: map[string]struct{}{}}
}

// ignores reports whether the client wants no message about changes by this origin.
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
