package rls

import (
	"context"
	"strconv"

	"google.golang.org/grpc"

	"limitsrv/commands/limiters"
	"limitsrv/commands/resp"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/server/rls/envoy"
)

// kuadrantService is the service of Limitador, which reserves amounts and settles them.
var kuadrantService = grpc.ServiceDesc{
	ServiceName: "kuadrant.service.ratelimit.v1.RateLimitService",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{
		{MethodName: "CheckRateLimit", Handler: handler((*core).checkRateLimit)},
		{MethodName: "Report", Handler: handler((*core).report)},
		{MethodName: "Reserve", Handler: handler((*core).reserve)},
		{MethodName: "Commit", Handler: handler((*core).commit)},
	},
}

// checkRateLimit reports whether one token would pass, and counts nothing.
func (s *core) checkRateLimit(ctx context.Context, c *call, by session.Call) (err error) {
	c.form = c.writer.Append
	if c.request, err = c.reader.Read(c.message); err != nil {
		return s.unread(c, err)
	}
	q := c.request
	q.Hits, q.Own, q.Negative, q.Peek = 1, nil, nil, true
	s.shorten(c)
	return s.decide(ctx, c, by)
}

// report charges the hits of a request that has passed.
func (s *core) report(ctx context.Context, c *call, by session.Call) (err error) {
	c.form = c.writer.Append
	if c.request, err = c.reader.Read(c.message); err != nil {
		return s.unread(c, err)
	}
	q := c.request
	if q.Own != nil || q.Negative != nil {
		return s.unread(c, badRequest("descriptors must not have hits_addend or is_negative_hits, because Report charges "+
			"the hits_addend of the request"))
	}
	q.Settle = q.Hits
	s.shorten(c)
	return s.decide(ctx, c, by)
}

// reserve reserves an amount under a new id.
func (s *core) reserve(ctx context.Context, c *call, by session.Call) (err error) {
	c.form = envoy.AppendReserved
	ttl := int64(0)
	if c.request, ttl, err = c.reader.ReadReserve(c.message); err != nil {
		return s.unread(c, err)
	}
	c.request.Reserve = []byte(newID())
	c.request.Terms.TTL = ttl
	s.shorten(c)
	return s.decide(ctx, c, by)
}

// commit settles a reservation. If its id is unknown, the amount is charged by the rules, once for the id.
// A late Commit did not find an open reservation, so it answers false. Its repeat answers true, because the
// record does not tell a late commit from another.
func (s *core) commit(ctx context.Context, c *call, by session.Call) error {
	q, id, err := c.reader.ReadCommit(c.message)
	if err == nil && len(id) > engine.MaxIDBytes {
		err = badRequest("reservation_id: at most " + strconv.Itoa(engine.MaxIDBytes) + " bytes")
	}
	if err != nil {
		return s.unread(c, err)
	}
	c.request = q
	out := session.Settled{}
	if len(id) > 0 {
		by.Args = [][]byte{[]byte("RL.COMMIT"), id, strconv.AppendInt(nil, q.Hits, 10)}
		out, err = s.cfg.Decider.Settle(ctx, by)
		if e := resp.ErrorOf(err); e != nil && e.Code == "WRONGTYPE" { // of a Commit with this id that was charged
			out, err = session.Settled{}, nil
		}
	}
	switch released := out.Done && out.IsCommit(); {
	case err != nil:
		if ctx.Err() == nil {
			s.calls.Put(c)
		}
		return repeatable(err)
	case out.Known || q.Hits == 0:
		c.response = envoy.AppendCommitted(c.response[:0], released)
		return nil
	}
	c.form = func(dst []byte, _ *checks.Request, _ *checks.Answer) []byte { return envoy.AppendCommitted(dst, false) }
	if q.Settle = q.Hits; len(id) > 0 {
		q.Once, q.OnceFor = id, limiters.OnceFor
	}
	s.shorten(c)
	err = s.decide(ctx, c, by)
	if len(id) > 0 {
		err = repeatable(err)
	}
	return err
}

// repeatable returns the error of a call that may be sent again when its outcome is not known.
func repeatable(err error) error {
	if e := resp.ErrorOf(err); e != nil && e.Code == "UNCERTAIN" {
		return resp.NewError("TRYAGAIN", e.Text)
	}
	return err
}
