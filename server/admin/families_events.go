package admin

import "limitsrv/internal/status"

// hasEvents reports whether the node notes events at thresholds.
func hasEvents(v *view) bool { return v.events.On }

var eventFamilies = []family{
	{"events_total", "Events at thresholds that this node added to the list, by kind: near, exhausted or blocked.",
		counter, []string{"kind"}, hasEvents, func(v *view, value func(float64, ...string)) {
			for _, c := range v.events.Listed {
				value(float64(c.N), c.Label)
			}
		}},
	{"events_dropped_total", "Events that found no room, by reason: queue (of this node), list, or memory. A later " +
		"request beyond the threshold tries again.", counter, []string{"reason"}, hasEvents,
		func(v *view, value func(float64, ...string)) {
			for reason, n := range v.events.Dropped {
				value(float64(n), status.EventDropWords[reason])
			}
		}},
	{"events_sent_total", "Events that this node delivered to --events-url.", counter, nil, hasEvents,
		integer(func(v *view) int64 { return v.events.Sent })},
	{"event_delivery_failures_total", "Deliveries of this node to --events-url that failed.", counter, nil, hasEvents,
		integer(func(v *view) int64 { return v.events.Failed })},
	{"events_waiting", "Events that wait for their delivery, on the node that delivers them, else 0.", gauge, nil,
		hasEvents, integer(func(v *view) int64 { return v.events.Waiting })},
	{"events_failing", "1 if the last delivery to --events-url failed, else 0.", gauge, nil, hasEvents,
		boolean(func(v *view) bool { return v.events.Failing != "" })},
}
