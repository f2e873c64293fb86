// Package value has the values of Lua, their tables, and the heap of a run.
//
// A Value is 24 bytes: an interface for the kind and the pointer, and a number. A number
// or a boolean allocates nothing. Strings and tables of a run are taken of its Heap,
// which is reused as a whole, so that a run allocates nothing once the heap has grown.
// Values that outlive a run (constants, the tables of the library) are made by NewString
// and NewTable, and frozen.
package value
