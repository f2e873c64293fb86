package rls

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"limitsrv/internal/beat"
)

// healthName is the name of the service in requests for its health, beside the empty name.
const healthName = "ratelimit"

// watchPeriod is the longest time until a watcher gets a change.
const watchPeriod = time.Second

// health answers grpc.health.v1, without a login: SERVING while requests can be answered.
type health struct {
	grpc_health_v1.UnimplementedHealthServer
	s *core
}

// Check answers with the current health of a service.
func (h *health) Check(_ context.Context,
	q *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	now := h.status(q.GetService())
	if now == grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN {
		return nil, status.Error(codes.NotFound, `service: "" or `+healthName)
	}
	return &grpc_health_v1.HealthCheckResponse{Status: now}, nil
}

// Watch sends the health of a service, and then each change of it, until the client leaves
// or the server drains.
func (h *health) Watch(q *grpc_health_v1.HealthCheckRequest, stream grpc_health_v1.Health_WatchServer) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(h.s.draining, cancel)()
	var err error
	last := grpc_health_v1.HealthCheckResponse_UNKNOWN
	send := func() {
		if now := h.status(q.GetService()); now != last && err == nil {
			last = now
			if err = stream.Send(&grpc_health_v1.HealthCheckResponse{Status: now}); err != nil {
				cancel()
			}
		}
	}
	send()
	beat.Every(ctx, watchPeriod, send)
	send()
	switch {
	case err != nil:
		return err
	case h.s.draining.Err() != nil:
		return status.Error(codes.Unavailable, "the server is shutting down")
	}
	return status.FromContextError(ctx.Err()).Err()
}

func (h *health) status(service string) grpc_health_v1.HealthCheckResponse_ServingStatus {
	switch {
	case service != "" && service != healthName:
		return grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN
	case h.s.isReady():
		return grpc_health_v1.HealthCheckResponse_SERVING
	}
	return grpc_health_v1.HealthCheckResponse_NOT_SERVING
}
