// A stand-in until the summaries of keys are merged.

package engine

import "time"

type TopKind int
type TopWindow int

const (
	TopDenied TopKind = iota
	TopHot
)
const (
	TopMinute TopWindow = iota
	TopHour
)

type TopRow struct {
	Key          []byte
	Count, Error int64
}
type TopResult struct {
	Rows []TopRow
	Span time.Duration
}

func (e *Engine) Top(now Instant, what TopKind, window TopWindow, count int) TopResult {
	return TopResult{}
}
