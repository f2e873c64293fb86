// Package events sends events at thresholds to an address over HTTP: the first events of the list as
// one signed POST, again and again until the receiver confirms it, then the next. So the receiver gets
// each event at least once, in the order of the list.
package events
