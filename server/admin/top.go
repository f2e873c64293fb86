package admin

import "limitsrv/engine"

// The words for what RL.TOP tells.
var (
	topKinds   = map[string]engine.TopKind{"denied": engine.TopDenied, "hot": engine.TopHot}
	topWindows = map[string]engine.TopWindow{"minute": engine.TopMinute, "hour": engine.TopHour}
)
