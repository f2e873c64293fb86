package main

import (
	"context"
	"errors"
	"testing"
)

func TestAlongside(t *testing.T) {
	errWork, errOther := errors.New("work"), errors.New("other")
	for _, tt := range []struct {
		name              string
		work, other, want error
	}{
		{"all is well", nil, nil, nil},
		{"the work fails", errWork, nil, errWork},
		{"another fails", nil, errOther, errOther},
		{"both fail", errWork, errOther, errWork},
	} {
		err := alongside(t.Context(), func() error { return tt.work }, func(ctx context.Context) error {
			<-ctx.Done()
			return tt.other
		})
		if err != tt.want {
			t.Errorf("%s: alongside = %v, want %v", tt.name, err, tt.want)
		}
	}
}
