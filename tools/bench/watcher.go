package main

import (
	"sync"
	"time"
)

// An outcome is the result of a load. The latencies are measured by clients; for pipelines,
// from the sending of the pipeline.
type outcome struct {
	decisions int64
	refused   int64 // of the decisions
	perSecond float64
	latency
}

// A sample is a measured run.
type sample struct {
	outcome
	cpu       []time.Duration // user and system, per decision, of each of the side's nodes
	generator time.Duration   // the same, of this process and its children
}

// measure runs work, which loads s, and measures the processor time.
func (s *side) measure(work func() (outcome, error)) (sample, error) {
	before, err := cpus(s.nodes)
	if err != nil {
		return sample{}, err
	}
	ownBefore := ownCPU()
	o, err := work()
	if err != nil {
		return sample{}, err
	}
	after, err := cpus(s.nodes)
	if err != nil {
		return sample{}, err
	}
	n := time.Duration(max(1, o.decisions))
	got := sample{outcome: o, generator: (ownCPU() - ownBefore) / n}
	for i := range after {
		got.cpu = append(got.cpu, (after[i]-before[i])/n)
	}
	return got, nil
}

// A watcher records the latency of requests that were in flight at any time between
// open and close. The zero value is not open yet.
//
// Concurrency: safe for concurrent use.
type watcher struct {
	lock     sync.Mutex
	from, to time.Time // zero: not open yet, not closed yet
	seen     histogram
	refused  int64
}

// open starts the recording.
func (w *watcher) open() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.from = time.Now()
}

// close ends the recording: requests that begin later are ignored.
func (w *watcher) close() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.to = time.Now()
}

// record records n requests with a latency from begin to end, some of them refused.
func (w *watcher) record(begin, end time.Time, n, refused int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.from.IsZero() || end.Before(w.from) || !w.to.IsZero() && begin.After(w.to) {
		return
	}
	w.seen.add(end.Sub(begin), int64(n))
	w.refused += int64(refused)
}

// latency returns the quantiles of the recorded latencies.
func (w *watcher) latency() latency {
	w.lock.Lock()
	defer w.lock.Unlock()
	return latencyOf(&w.seen)
}

// outcome returns the recorded requests of a run that took so long.
func (w *watcher) outcome(took time.Duration) outcome {
	w.lock.Lock()
	defer w.lock.Unlock()
	n := w.seen.total
	return outcome{decisions: n, refused: w.refused, perSecond: float64(n) / took.Seconds(), latency: latencyOf(&w.seen)}
}
