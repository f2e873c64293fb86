package main

import (
	"context"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// A healthProbe asks the health service of a gRPC server, which its function connects to.
type healthProbe dialer

// errNoHealth is the error for a gRPC server without the health service.
var errNoHealth = errors.New("no health service: the address must be --rls of a server")

// check returns the health of the whole server.
func (p healthProbe) check(timeout time.Duration) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	failed := make(chan error, 1) // of the dial, because the error of gRPC has its text only
	dial := func(context.Context, string) (net.Conn, error) {
		conn, err := p(timeout, "h2")
		if err != nil {
			select {
			case failed <- err:
			default:
			}
		}
		return conn, err
	}
	// TLS is up to dial.
	conn, err := grpc.NewClient("passthrough:///server", grpc.WithContextDialer(dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	answer, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	switch code := status.Code(err); {
	case code == codes.OK:
		return answer.GetStatus(), nil
	case code == codes.Unimplemented:
		return 0, errNoHealth
	case len(failed) > 0:
		return 0, <-failed
	}
	return 0, errors.New(status.Convert(err).Message())
}

// isLive returns nil if the health service answers.
func (p healthProbe) isLive(timeout time.Duration) error {
	_, err := p.check(timeout)
	return err
}

// isReady returns nil if the health service says that the server serves.
func (p healthProbe) isReady(timeout time.Duration) (degraded string, err error) {
	switch health, err := p.check(timeout); {
	case err != nil:
		return "", err
	case health != grpc_health_v1.HealthCheckResponse_SERVING:
		return "", errors.New("its health is " + health.String() + "; --admin has the reasons")
	}
	return "", nil
}
