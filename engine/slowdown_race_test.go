//go:build race

package engine_test

// slowdown divides the amount of work of the longest tests: under the race
// detector they take that much longer.
const slowdown = 8
