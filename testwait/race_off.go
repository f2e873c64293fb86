//go:build !race

package testwait

const slowdown = 1
