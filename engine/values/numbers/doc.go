// Package numbers reads and writes the numbers in the texts of plain values, as Redis 7.2
// does: integers, doubles, bounds of ranges, and the extended precision of INCRBYFLOAT.
//
// Every function is a function of its arguments alone, on all processors. No function keeps
// or changes the bytes that it reads.
package numbers
