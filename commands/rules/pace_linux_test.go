package rules

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// BenchmarkWaitsBesideLoad measures how much processor time another goroutine waits for, on one
// processor, while rules are compiled and compared.
func BenchmarkWaitsBesideLoad(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	text := manyRules(10_000)
	before := load(b, text)
	var worst time.Duration
	for b.Loop() {
		done := make(chan bool)
		go func() {
			Compare(before, load(b, text))
			close(done)
		}()
		for last, more := processorTime(b), true; more; {
			runtime.Gosched()
			now := processorTime(b)
			worst, last = max(worst, now-last), now
			select {
			case <-done:
				more = false
			default:
			}
		}
	}
	b.ReportMetric(float64(worst.Microseconds()), "worst-us")
}

// processorTime returns the processor time of the process.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
