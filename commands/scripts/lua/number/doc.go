// Package number converts between numbers and their text by the rules of C, which Lua
// 5.1 uses: strtod, strtoul and printf in the C locale, and casts of doubles to integers.
package number
