//go:build race

package persist

// The race detector makes each one some ten times slower.
const storeDamagesDefault = 180
