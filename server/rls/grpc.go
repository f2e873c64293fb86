package rls

import (
	"bytes"
	"context"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"limitsrv/commands/auth"
	"limitsrv/commands/session"
	"limitsrv/server/rls/envoy"
)

// Bounds of gRPC connections.
const (
	maxStreams     = 1000
	maxHeaderBytes = 16 << 10
	minPing        = 10 * time.Second // between pings of a client
	// streamWorkers is the number of goroutines that serve many calls each, so that their
	// stacks stay grown. Further calls at the same time get a goroutine of their own.
	streamWorkers = 16
)

func newGRPC(s *core, secure bool) *grpc.Server {
	options := []grpc.ServerOption{
		grpc.ForceServerCodecV2(codec{encoding.GetCodecV2(protocodec.Name), s}),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxRecvMsgSize(envoy.MaxMessageBytes),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: idleTimeout}),
		grpc.StaticStreamWindowSize(envoy.MaxMessageBytes),
		grpc.StaticConnWindowSize(16 * envoy.MaxMessageBytes),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.WaitForHandlers(true),
	}
	if secure {
		options = append(options, grpc.Creds(credentials.NewTLS(s.tlsConfig())))
	}
	g := grpc.NewServer(options...)
	g.RegisterService(&grpc.ServiceDesc{
		ServiceName: "envoy.service.ratelimit.v3.RateLimitService",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "ShouldRateLimit", Handler: handler((*core).shouldRateLimit)}},
	}, s)
	g.RegisterService(&kuadrantService, s)
	grpc_health_v1.RegisterHealthServer(g, &health{s: s})
	return g
}

// A method answers the call c of an account: it sets the response. If it returns an error, its caller must
// not use c: c is in the pool again, or may still be in use, see decide.
type method func(s *core, ctx context.Context, c *call, by session.Call) error

// handler returns the handler of a method.
func handler(m method) grpc.MethodHandler {
	return func(s any, ctx context.Context, receive func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		return s.(*core).serve(ctx, receive, m)
	}
}

// serve receives a call and answers it by a method.
func (s *core) serve(ctx context.Context, receive func(any) error, m method) (answer any, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("request by rules panicked", "panic", p, "stack", string(debug.Stack()))
			answer, err = nil, internalFailure.err()
		}
	}()
	c := s.calls.Get().(*call)
	if err := receive(c); err != nil {
		return nil, err
	}
	from := ""
	if p, ok := peer.FromContext(ctx); ok {
		from = p.Addr.String()
	}
	account, err := s.accountOf(ctx, from)
	if err != nil {
		s.calls.Put(c)
		s.cfg.Decider.CountFailure(session.GRPC)
		return nil, loginFailureOf(err).err()
	}
	if err := m(s, ctx, c, session.Call{Account: account, From: from, Via: session.GRPC}); err != nil {
		return nil, failureOf(err, s.log).err()
	}
	return c, nil // codec gives it back
}

// unread returns c to the pool, because its message is malformed. It returns err.
func (s *core) unread(c *call, err error) error {
	s.calls.Put(c)
	s.cfg.Decider.CountFailure(session.GRPC)
	return err
}

// shouldRateLimit is the method of Envoy's service.
func (s *core) shouldRateLimit(ctx context.Context, c *call, by session.Call) (err error) {
	c.form = c.writer.Append
	if c.request, err = c.reader.Read(c.message); err != nil {
		return s.unread(c, err)
	}
	s.shorten(c)
	return s.decide(ctx, c, by)
}

// accountOf authenticates a call by its metadata authorization. A login goes on if the call
// ends, because Envoy waits only 20 ms, less than the check of a password takes. The next
// call finds the result.
func (s *core) accountOf(ctx context.Context, from string) (*auth.Account, error) {
	asHTTP := http.Request{Header: http.Header{"Authorization": metadata.ValueFromIncomingContext(ctx, "authorization")}}
	return s.access.Account(context.WithoutCancel(ctx), from, &asHTTP)
}

// A codec is protobuf's, except for calls: their messages go to package envoy.
type codec struct {
	encoding.CodecV2
	s *core
}

// Marshal encodes a message. It copies the response of a call, and gives the call back.
func (d codec) Marshal(v any) (mem.BufferSlice, error) {
	c, ok := v.(*call)
	if !ok {
		return d.CodecV2.Marshal(v)
	}
	response := mem.SliceBuffer(bytes.Clone(c.response))
	d.s.calls.Put(c)
	return mem.BufferSlice{response}, nil
}

// Unmarshal decodes a message. Requires: a call's message is within MaxRecvMsgSize.
func (d codec) Unmarshal(data mem.BufferSlice, v any) error {
	c, ok := v.(*call)
	if !ok {
		return d.CodecV2.Unmarshal(data, v)
	}
	c.message = slices.Grow(c.message[:0], data.Len())[:data.Len()]
	data.CopyTo(c.message)
	return nil
}
