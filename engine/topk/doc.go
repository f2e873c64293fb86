// Package topk finds the keys that are counted most in the last minute and the last hour,
// in bounded memory: Windows count the keys of one shard by time, and a Query adds up the
// counts of several shards.
//
// Counts are estimates with known errors: a key was counted at most Count and at least
// Count - Error times. With a capacity of k keys, and n counts in the span, every key
// counted more than n/(k/4+1) times is tracked, and no Error is above that. That holds
// for keys of up to 64 bytes on average, in any order; fewer longer keys fit.
//
// It has no clock, randomness, goroutine or lock. It imports the standard library only.
package topk
