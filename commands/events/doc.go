// Package events notes the thresholds that requests by rules reach, and keeps an event for each in a
// list until a sender has delivered it.
//
//	checks.Event -> Outbox.Note -> told? -> queue -> Outbox.Run -> a script: told? -> the list
//	the list -> Outbox.Read -> a sender -> Outbox.Remove
//
// The list and the marks of told events are plain values of the engine, which one script writes. So a
// cluster has one event for a threshold, whichever nodes answered the requests, and a node with a
// data directory still has it after a restart. Each node also remembers what it told, in fixed
// memory, so that a further request beyond a threshold costs a look into a table.
package events
