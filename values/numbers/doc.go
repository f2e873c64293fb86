// Package numbers reads and writes the numbers in the texts of plain values, as Redis 7.2
// does: integers, doubles, bounds of ranges, and the extended precision of INCRBYFLOAT.
//
// Every function is a function of its arguments alone, on all processors. None keeps or
// changes the bytes that it reads.
//
// One difference from Redis is known: a double is written with the fewest digits that
// identify it. Redis writes one digit more for about one double in a thousand, because
// its algorithm (Grisu2) sometimes misses the shortest form.
package numbers
