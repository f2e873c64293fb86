//go:build !race

package persist

const storeDamagesDefault = 2000
