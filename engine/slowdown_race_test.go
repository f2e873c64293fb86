//go:build race

package engine_test

// slowdown divides the amount of work of the longest tests, which take that much longer
// under the race detector.
const slowdown = 8
