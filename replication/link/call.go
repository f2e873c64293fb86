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

// maxCallBytes bounds a call and its reply.
const maxCallBytes = 1 << 20

// ErrUnanswered is the error of a Call that may have been executed and got no answer.
var ErrUnanswered = errors.New("no answer has arrived")

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
// for each call. An error of the other node keeps its text, and its Code if it has one. After
// ErrUnanswered the call may or may not have been executed. After any other error it was not
// executed, or it was and returned that error. The timeout of the links bounds the greeting; after
// it only ctx bounds the call.
func (l *Links) Call(ctx context.Context, address, name string, request, reply any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("call %s: %w", name, err)
	}
	frame, err := callFrame(callRequest{name, body})
	if err != nil {
		return fmt.Errorf("call %s: %w", name, err)
	}
	conn, err := l.dial(ctx, linkCall, address, "")
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	var answer callReply
	conn.SetWriteDeadline(time.Now().Add(l.o.Timeout))
	if _, err = conn.Write(frame); err == nil {
		err = readCall(conn, &answer)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
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

// answerCall answers the single call of a link.
func (l *Links) answerCall(conn net.Conn, from greeting) {
	var request callRequest
	conn.SetReadDeadline(time.Now().Add(l.o.Timeout))
	if err := readCall(conn, &request); err != nil {
		l.broken(conn, err)
		return
	}
	conn.SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancel(l.closing)
	ended := make(chan struct{})
	go func() { // the caller sends nothing more, so a Read returns only when it hung up
		defer close(ended)
		defer cancel()
		conn.Read(make([]byte, 1))
	}()
	reply, err := l.o.Call(ctx, Peer{from.Identity, from.raft}, request.Name, request.Body)
	frame, err := replyFrame(reply, err)
	if err != nil {
		l.o.Log.Error("can't answer a call", "call", request.Name, "error", err)
	} else {
		conn.SetWriteDeadline(time.Now().Add(l.o.Timeout))
		conn.Write(frame)
	}
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
	frame, err := callFrame(answer)
	if err != nil {
		return callFrame(callReply{Error: err.Error()})
	}
	return frame, nil
}

// callFrame returns a frame with v in JSON.
func callFrame(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(data) > maxCallBytes {
		return nil, fmt.Errorf("it takes %d bytes, at most %d are allowed", len(data), maxCallBytes)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...), nil
}

// readCall reads a frame with v in JSON. Invalid bytes are a *refusal.
func readCall(conn net.Conn, v any) error {
	frames := NewFrameReader(bufio.NewReader(conn), maxCallBytes)
	data, err := frames.Next()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return &refusal{reasonGarbled, "a call with invalid JSON: " + err.Error()}
	}
	return nil
}
