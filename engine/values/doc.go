// Package values holds the contents of plain values in memory: strings, hashes, lists,
// sets and sorted sets with the operations of Redis 7.2. It knows no key, no time and no
// command. An owner keeps a Head of three words for each value, gets a cursor for it
// (Store.Hash and so on), and keeps the Head that the cursor has afterwards.
//
// # Layers
//
//	memory        pages of slots, without a Go pointer for each object; copies on write
//	texts         byte strings of any length, in pieces of 32 KB
//	elements      the stored form of a field, member or entry; integers are short
//	packed, ints  small collections: a single sequence of elements in one blob
//	tree, walk    large hashes, sets and sorted sets: B+ trees with counts, by hash and
//	              by score
//	chunks        large lists: a ring of chunks of 4 KB
//	strings, hashes, sets, sortedsets, ranges, lists    the cursors
//	snapshot, parse                                     the form of contents in snapshots
//
// A collection is packed up to the sizes that Redis packs, and large from then on until it
// is empty, so that Ref.Encoding gives the name that OBJECT ENCODING has.
//
// # Promises
//
//   - Results and orders are functions of the seed and of the operations on a value. They
//     do not depend on addresses, the process, the memory in use or other values, and a
//     value restored by Parse in a Store with the same seed goes on as the original. The
//     numbers of changes are a function of the operations on the whole Store.
//   - Randomness comes from the caller, by way of ranks: see Pick, Ranks, and the At of
//     each cursor.
//   - A change takes bounded time at any size of the value: a packed sequence has at most
//     18 KB (a list 32 KB), a chunk or piece 4 KB or 32 KB, a tree O(log n) nodes and
//     leaves of mostly below 2 KB. The exceptions name their cost.
//   - No operation on small values allocates Go memory once the Store has grown.
//   - Pages are released when they are empty. Bytes is exact, and 0 without contents.
//   - A frozen Store shows the contents of a single moment, while the origin changes, in
//     parallel and without a lock.
//   - Parse takes arbitrary bytes and accepts only contents that Append could have written.
package values
