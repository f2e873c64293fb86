package rls

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"limitsrv/commands/resp"
	"limitsrv/server/access"
)

// A failure is a call without an answer, as the protocols tell it.
type failure struct {
	code   codes.Code
	status int
	text   string
}

// failures are the failures by the code words of errors.
var failures = map[string]failure{
	"ERR":         {code: codes.InvalidArgument, status: http.StatusBadRequest},
	"NOPERM":      {code: codes.PermissionDenied, status: http.StatusForbidden},
	"NOAUTH":      {code: codes.Unauthenticated, status: http.StatusUnauthorized},
	"WRONGPASS":   {code: codes.Unauthenticated, status: http.StatusUnauthorized},
	"LOADING":     {code: codes.Unavailable, status: http.StatusServiceUnavailable},
	"CLUSTERDOWN": {code: codes.Unavailable, status: http.StatusServiceUnavailable},
	"UNCERTAIN":   {code: codes.Aborted, status: http.StatusInternalServerError}, // it may be decided: not to be retried
	"WRONGTYPE":   {code: codes.FailedPrecondition, status: http.StatusConflict},
	"BUSYKEY":     {code: codes.AlreadyExists, status: http.StatusConflict},
	"OOM":         {code: codes.ResourceExhausted, status: http.StatusInsufficientStorage},
}

// failureOf returns the failure for an error of a Decider. An error that is not meant for
// clients is logged.
func failureOf(err error, log *slog.Logger) failure {
	switch e := resp.ErrorOf(err); {
	case errors.Is(err, context.DeadlineExceeded):
		return failure{codes.DeadlineExceeded, http.StatusServiceUnavailable,
			"the time of the request is over: it may have been decided"}
	case errors.Is(err, context.Canceled):
		return failure{codes.Canceled, http.StatusServiceUnavailable, "the request was cancelled: it may have been decided"}
	case e != nil:
		f, known := failures[e.Code]
		if !known {
			f = failure{code: codes.Unavailable, status: http.StatusServiceUnavailable}
		}
		f.text = e.Error()
		return f
	}
	log.Error("a request by rules failed", "error", err)
	return internalFailure
}

var internalFailure = failure{codes.Internal, http.StatusInternalServerError, "internal error"}

// loginFailureOf returns the failure for an error of a login.
func loginFailureOf(err error) failure {
	if e := resp.ErrorOf(err); e != nil {
		return failure{codes.Unauthenticated, http.StatusUnauthorized, e.Error()}
	}
	return failure{codes.Unavailable, http.StatusServiceUnavailable, access.ErrBusy.Error()}
}

// err returns the failure of a gRPC call.
func (f failure) err() error { return status.Error(f.code, f.text) }

// badRequest is a mistake in a request.
func badRequest(text string) error { return resp.NewError("ERR", text) }
