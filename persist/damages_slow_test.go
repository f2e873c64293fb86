//go:build race

package persist

// The race detector makes each one about ten times slower.
const storeDamagesDefault = 180
