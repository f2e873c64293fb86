package testwait

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestScaleOf(t *testing.T) {
	for _, tt := range []struct {
		took time.Duration
		want float64
	}{
		{0, 1}, {unitTime / 2, 1}, {unitTime, 1}, {3 * unitTime, 3}, {time.Hour, maxScale},
	} {
		if got := scaleOf(tt.took); got != tt.want {
			t.Errorf("scaleOf(%v) = %v, want %v", tt.took, got, tt.want)
		}
	}
}

// measured sets the last measurement, so that the machine seems to have the given scale.
func measured(t *testing.T, scale float64) {
	last.Lock()
	defer last.Unlock()
	last.at, last.scale = time.Now().Add(time.Hour), scale
	t.Cleanup(func() { last.scale = 0 })
}

func TestScaled(t *testing.T) {
	measured(t, 3)
	if got := Scaled(time.Second); got != 3*time.Second {
		t.Errorf("a second is %v, want 3 s", got)
	}
}

func TestScaleIsMeasured(t *testing.T) {
	last.scale = 0
	if got := Scale(); got < 1 || got > maxScale || last.at.IsZero() {
		t.Errorf("the scale is %v, measured at %v", got, last.at)
	}
}

// A recorder is a test that may fail.
type recorder struct {
	testing.TB
	failed string
}

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) { r.failed = fmt.Sprintf(format, args...) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// waits runs Until in virtual time for an event that happens after some time. It returns
// the text of the failure, if any, and the time when Until returned.
func waits(t *testing.T, limit, after time.Duration) (failed string, ended time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		r := &recorder{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			Until(r, limit, "the event", func() bool { return time.Since(begin) >= after })
		}()
		<-done
		failed, ended = r.failed, time.Since(begin)
	})
	return failed, ended
}

func TestUntil(t *testing.T) {
	for _, tt := range []struct {
		name         string
		scale        float64
		limit, after time.Duration
		fails        bool
	}{
		{"has happened already", 1, time.Second, 0, false},
		{"happens in time", 1, time.Second, 900 * time.Millisecond, false},
		{"never happens", 1, time.Second, time.Hour, true},
		{"happens late, on a busy machine", 4, time.Second, 3900 * time.Millisecond, false},
		{"never happens, on a busy machine", 4, time.Second, time.Hour, true},
	} {
		measured(t, tt.scale)
		failed, ended := waits(t, tt.limit, tt.after)
		if got := failed != ""; got != tt.fails {
			t.Errorf("%s: failed with %q, want to fail: %v", tt.name, failed, tt.fails)
		}
		want := tt.after
		if tt.fails {
			want = time.Duration(tt.scale * float64(tt.limit))
			if !strings.Contains(failed, "the event") {
				t.Errorf("%s: the failure is %q, want the name of the event", tt.name, failed)
			}
		}
		if ended < want || ended > want+2*most {
			t.Errorf("%s: it ended after %v, want %v", tt.name, ended, want)
		}
	}
}

// TestRetryReportsTheLastError checks the text of the failure.
func TestRetryReportsTheLastError(t *testing.T) {
	measured(t, 1)
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		tries := 0
		Retry(r, 0, func() error {
			tries++
			return fmt.Errorf("try %d", tries)
		})
	}()
	<-done
	if !strings.HasSuffix(r.failed, ": try 1") {
		t.Errorf("the failure is %q, want the error of try 1", r.failed)
	}
}

// TestWithin times calls that take the given times, in turn.
func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		name  string
		scale float64
		takes []time.Duration
		fails bool
	}{
		{"fast", 1, []time.Duration{time.Second}, false},
		{"fast once", 1, []time.Duration{time.Hour, time.Minute, time.Second}, false},
		{"slow", 1, []time.Duration{time.Hour, 1001 * time.Millisecond, time.Hour, time.Hour, time.Hour}, true},
		{"slow on a busy machine", 3, []time.Duration{3 * time.Second}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			measured(t, tt.scale)
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{}
				calls := 0
				Within(r, time.Second, "it", func() {
					time.Sleep(tt.takes[calls])
					calls++
				})
				if failed := r.failed != ""; failed != tt.fails || calls != len(tt.takes) {
					t.Errorf("failed with %q after %d calls, want to fail: %v, after %d", r.failed, calls, tt.fails, len(tt.takes))
				}
			})
		})
	}
}

// TestAwait logs the awaited text in pieces.
func TestAwait(t *testing.T) {
	var log Log
	go func() {
		log.Logger().Info("begun")
		log.Logger().Info("done")
	}()
	log.Await(t, "msg=done")
	if text := log.String(); !strings.Contains(text, "msg=begun") {
		t.Errorf("the log is %q, want both lines", text)
	}
}
