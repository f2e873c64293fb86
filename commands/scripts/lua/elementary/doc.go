// Package elementary computes the elementary functions of C's <math.h> with the same bits on
// all processors. Scripts compute with it, and each node of a cluster must get the same result.
//
// The functions of package math differ between processors: some have assembly, and compilers
// for most processors fuse a product and a sum into a single operation, which rounds once. Here
// each product is converted to float64, so that no compiler fuses it, and nothing is in
// assembly.
//
// Results are within 0.52 units in the last place of the exact value, or 1 unit if the result is
// subnormal. Nearly all are rounded correctly. Infinities, zeros and NaN give the
// results of C99, annex F. The sign of a NaN is not specified.
//
// # Methods
//
// A pair of doubles holds a number with some 105 bits (T. J. Dekker, A floating-point technique
// for extending the available precision, 1971). Each function reduces its argument exactly, or
// as a pair, to the distance from the nearest entry of a table, adds a short series of the
// distance to the entry (P. T. P. Tang, Table-lookup algorithms for elementary functions and
// their error analysis, 1991), and rounds the pair at the end. Large arguments of the circular
// functions are reduced with integers (M. H. Payne and R. N. Hanek, Radian reduction for
// trigonometric functions, 1983). The tables are computed by the tests.
package elementary
