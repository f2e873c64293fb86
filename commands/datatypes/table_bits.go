package datatypes

import "limitsrv/commands/spec"

// bitCommands are the commands on the bits of strings, by number.
var bitCommands = []spec.Command{
	150: {Name: "SETBIT", Args: "key offset value", Summary: "Sets the bit at an offset, from 0 for the highest of the " +
		"first byte, and returns the one before. The string grows as needed.",
		Complexity: "O(1)", Since: "2.2.0", Group: groupBitmap, Flags: spec.Write | spec.DenyOOM, Keys: spec.OneKey,
		Body: &spec.Call{Do: setBit, Work: grown(8)}},
	151: {Name: "GETBIT", Args: "key offset", Summary: "Returns the bit at an offset, 0 beyond the end.",
		Complexity: "O(1)", Since: "2.2.0", Group: groupBitmap, Flags: spec.ReadOnly | spec.Fast, Keys: spec.OneKey,
		Body: &spec.Call{Do: getBit}},
	152: {Name: "BITCOUNT", Args: "key [start end [BYTE|BIT]]",
		Summary:    "Counts the bits that are 1, in all or from start to end in bytes, or with BIT in bits.",
		Complexity: "O(N)", Since: "2.6.0", Group: groupBitmap, Flags: spec.ReadOnly, Keys: spec.OneKey,
		Body: &spec.Call{Do: bitCount, Work: whole(workToVisit)}},
	153: {Name: "BITFIELD",
		Args: "key [GET encoding offset | [OVERFLOW WRAP|SAT|FAIL] <SET encoding offset value | INCRBY " +
			"encoding offset increment> ...]",
		Summary: "Reads, sets and adds to integers of up to 64 bits at any offset. OVERFLOW says how those after it " +
			"overflow; FAIL answers nil.",
		Complexity: "O(1) for each subcommand", Since: "3.2.0", Group: groupBitmap, Flags: spec.Write | spec.DenyOOM,
		Keys: spec.OneKey, Body: &spec.Call{Do: bitField, Work: workOfFields}},
	154: {Name: "BITFIELD_RO", Args: "key [GET encoding offset ...]",
		Summary:    "Reads integers of up to 64 bits at any offset.",
		Complexity: "O(1) for each subcommand", Since: "6.0.0", Group: groupBitmap, Flags: spec.ReadOnly | spec.Fast,
		Keys: spec.OneKey, Body: &spec.Call{Do: bitFieldRO}},
}
