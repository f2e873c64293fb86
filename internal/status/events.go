package status

// Events is the state of the events at thresholds. Counts are of this process.
type Events struct {
	On bool // events are noted
	// Listed are the events that this node added to the list, by kind.
	Listed []EventCount
	// Dropped are the events that were dropped, by reason: EventQueueFull and so on.
	Dropped [EventDrops]int64
	// Sent are the events that this node delivered, and Failed its deliveries that failed.
	Sent, Failed int64
	// Waiting is the length of the list at the last look, on the node that sends the events.
	Waiting int64
	// Failing is the error of the last delivery; "": it did not fail.
	Failing string
}

// An EventCount is a number of events with a label.
type EventCount struct {
	Label string
	N     int64
}

// The reasons to drop an event.
const (
	EventQueueFull = iota // too many events wait for the list
	EventListFull         // too many events wait for their delivery
	EventNoMemory         // --max-memory is reached
	EventDrops
)

// EventDropWords are the words of the reasons in metrics.
var EventDropWords = [EventDrops]string{"queue", "list", "memory"}
