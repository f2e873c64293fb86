// Package persist keeps the state of one node beyond its process: a log of what
// was decided, snapshots in Pebble, and recovery from both.
package persist
