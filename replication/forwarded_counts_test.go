package replication

import (
	"errors"
	"testing"

	"limitsrv/replication/forward"
)

// A follower counts the results of its forwarded batches.
func TestForwardedCounts(t *testing.T) {
	g := newBatcher(nil, nil, 0)
	other := errors.New("another")
	for _, tt := range []struct {
		err                  error
		forwarded, uncertain int64 // so far
	}{
		{nil, 1, 0},
		{errUncertain, 1, 1},
		{other, 1, 1},
	} {
		var got []error
		g.forwarded(waitingRequest{Request: forward.Request{Done: func(err error) { got = append(got, err) }}}, tt.err)
		if len(got) != 1 || got[0] != tt.err || g.counts.forwarded.Load() != tt.forwarded || g.counts.uncertain.Load() != tt.uncertain {
			t.Errorf("%v: answered %v, %d forwarded and %d uncertain; want %d and %d",
				tt.err, got, g.counts.forwarded.Load(), g.counts.uncertain.Load(), tt.forwarded, tt.uncertain)
		}
	}
}
