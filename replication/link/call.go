package link

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	// maxCallBytes bounds a call.
	maxCallBytes = 1 << 20
	// maxReplyBytes bounds a reply: it holds the longest answer to a client, in base64.
	maxReplyBytes = 32 << 20
)

// ErrUnanswered is the error of a Call that may have been executed and got no answer.
var ErrUnanswered = errors.New("no answer has arrived")

// A notCalled is the error of a call that was not made, because the node could not be reached.
type notCalled struct{ error }

// Unwrap returns the reason.
func (e *notCalled) Unwrap() error { return e.error }

// IsNotCalled reports whether an error of Call says that the node could not be reached.
func IsNotCalled(err error) bool {
	var e *notCalled
	return errors.As(err, &e)
}

// A callRequest and its callReply are frames with JSON.
type callRequest struct {
	Name string          `json:"name"`
	Body json.RawMessage `json:"body"`
}

type callReply struct {
	Code  string          `json:"code,omitempty"`
	Error string          `json:"error,omitempty"`
	Reply json.RawMessage `json:"reply,omitempty"`
}

// Call calls the node at an address and stores its reply in *reply, unless reply is nil. It dials
// for each call. An error of the other node keeps its text, and its Code if it has a Code. After
// ErrUnanswered the call may or may not have been executed. After any other error it was not
// executed, or it was and returned that error. The timeout of the links bounds the greeting; after
// it only ctx bounds the call.
func (l *Links) Call(ctx context.Context, address, name string, request, reply any) error {
	c := Caller{links: l}
	defer c.Close()
	return c.Call(ctx, address, name, request, reply)
}

// A Caller keeps the link of its last call for the next call. Concurrency: one goroutine.
type Caller struct {
	// Once: a call over a link that breaks is not made again, because a second call would get another
	// reply.
	Once bool

	links   *Links
	address string
	conn    net.Conn // nil: no link is kept
	replies *FrameReader
}

// NewCaller returns a [Caller], which the caller must close.
func (l *Links) NewCaller() *Caller { return &Caller{links: l} }

// Call is Links.Call over the kept link, if it leads to that address. If the kept link breaks, Call
// dials and calls again, unless Once is set. So the other node may execute the call twice.
func (c *Caller) Call(ctx context.Context, address, name string, request, reply any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("call %s: %w", name, err)
	}
	frame, err := callFrame(callRequest{name, body}, maxCallBytes)
	if err != nil {
		return fmt.Errorf("call %s: %w", name, err)
	}
	if c.address != address {
		c.Close()
	}
	var answer callReply
	kept := c.conn != nil
	if kept {
		err = c.exchange(ctx, frame, &answer)
	}
	if !kept || err != nil && ctx.Err() == nil && !c.Once {
		if c.conn, err = c.links.dial(ctx, linkCall, address, ""); err != nil {
			c.conn = nil
			return &notCalled{err}
		}
		c.address, c.replies, answer = address, callFrames(c.conn, maxReplyBytes), callReply{}
		err = c.exchange(ctx, frame, &answer)
	}
	switch {
	case err != nil:
		return fmt.Errorf("call %s of node at %s: %w: %w", name, address, ErrUnanswered, err)
	case answer.Error != "":
		return ErrorOf(answer.Code, answer.Error)
	case reply == nil:
		return nil
	}
	if err := json.Unmarshal(answer.Reply, reply); err != nil {
		return fmt.Errorf("reply to %s of node at %s: %w", name, address, err)
	}
	return nil
}

// exchange writes a call to the link and reads the reply. If it fails, or if ctx ends, it closes the
// link.
func (c *Caller) exchange(ctx context.Context, frame []byte, answer *callReply) error {
	conn := c.conn
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	conn.SetWriteDeadline(time.Now().Add(c.links.o.Timeout))
	_, err := conn.Write(frame)
	if err == nil {
		err = readCall(c.replies, answer)
	}
	if !stop() && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
	}
	return err
}

// Close closes the kept link.
func (c *Caller) Close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// answerCalls answers the calls of a link in their order, until the caller hangs up. Only the first
// call is bounded in time.
func (l *Links) answerCalls(conn net.Conn, from greeting) {
	ctx, cancel := context.WithCancel(l.closing)
	defer cancel()
	requests, ended := make(chan callRequest), make(chan struct{})
	go func() { // a Read that fails while a call is executed means that the caller hung up
		defer close(ended)
		defer close(requests)
		defer cancel()
		conn.SetReadDeadline(time.Now().Add(l.o.Timeout))
		for frames := callFrames(conn, maxCallBytes); ; {
			var request callRequest
			if err := readCall(frames, &request); err != nil {
				l.broken(conn, err)
				return
			}
			conn.SetReadDeadline(time.Time{})
			select {
			case requests <- request:
			case <-ctx.Done():
				return
			}
		}
	}()
	for request := range requests {
		reply, err := l.o.Call(ctx, Peer{from.Identity, from.raft}, request.Name, request.Body)
		frame, err := replyFrame(reply, err)
		if err != nil {
			l.o.Log.Error("can't answer a call", "call", request.Name, "error", err)
			break
		}
		conn.SetWriteDeadline(time.Now().Add(l.o.Timeout))
		if _, err := conn.Write(frame); err != nil {
			break
		}
	}
	cancel()
	conn.Close()
	<-ended
}

// replyFrame returns the frame of a reply, or of an error instead.
func replyFrame(reply any, failed error) ([]byte, error) {
	var answer callReply
	if failed == nil {
		body, err := json.Marshal(reply)
		if err != nil {
			return nil, err
		}
		answer.Reply = body
	} else if answer.Code, answer.Error = ErrorParts(failed); answer.Error == "" {
		answer.Error = "failed"
	}
	frame, err := callFrame(answer, maxReplyBytes)
	if err != nil {
		return callFrame(callReply{Error: err.Error()}, maxReplyBytes)
	}
	return frame, nil
}

// callFrame returns a frame with v in JSON, of at most most bytes.
func callFrame(v any, most int) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(data) > most {
		return nil, fmt.Errorf("it takes %d bytes, at most %d are allowed", len(data), most)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...), nil
}

// callFrames returns a reader of frames of calls or replies, of at most most bytes.
func callFrames(conn net.Conn, most int) *FrameReader {
	return NewFrameReader(bufio.NewReader(conn), most)
}

// readCall reads a frame with v in JSON. Invalid bytes are a *refusal.
func readCall(frames *FrameReader, v any) error {
	data, err := frames.Next()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return &refusal{reasonGarbled, "a call with invalid JSON: " + err.Error()}
	}
	return nil
}
