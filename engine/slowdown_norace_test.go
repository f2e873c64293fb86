//go:build !race

package engine_test

// slowdown divides the amount of work of the longest tests.
const slowdown = 1
