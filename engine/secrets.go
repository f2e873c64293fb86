package engine

import "limitsrv/engine/siphash"

// secrets are the hash keys of an engine. Each purpose has its own key, so that the output for one
// purpose reveals nothing about another. All are derived from Options.Seed.
//
// The key of the state is the seed itself. The keys of holders are derived from it without HKDF.
// Both have stayed, because snapshots and logs of earlier versions contain their outputs. That key
// also orders the members of collections. Clients see this order, but it reveals the place of no
// record.
type secrets struct {
	// table hashes keys to their places in shards and pages.
	table siphash.Key
	// state is for digests, fingerprints and, at level 1, random numbers and the sums of effects.
	state      siphash.Key
	holders    [2]siphash.Key      // of the two halves of a holderID
	priorities siphash.Key         // of the treaps of holders
	random     siphash.Key         // of the generators of calls, from level 2 on
	scans      siphash.Permutation // of the cursors of HSCAN, SSCAN and ZSCAN, from level 2 on
	keyScans   siphash.Permutation // of the cursors of Scan
	holdIDs    siphash.Permutation // of the holds of reservations, see Tx.HoldID
}

func newSecrets(seed [16]byte) secrets {
	state := siphash.KeyOf(seed)
	first := state.Derive()
	return secrets{
		table: siphash.KeyFor(seed, "table of keys"), state: state,
		holders: [2]siphash.Key{first, first.Derive()}, priorities: siphash.KeyFor(seed, "priorities of holders"),
		random:   siphash.KeyFor(seed, "random numbers"),
		scans:    siphash.NewPermutation(siphash.KeyFor(seed, "cursors in collections"), 64),
		keyScans: siphash.NewPermutation(siphash.KeyFor(seed, "cursors in keys"), 64-cursorShift),
		holdIDs:  siphash.NewPermutation(siphash.KeyFor(seed, "holds of reservations"), 64),
	}
}

// secretsLevel is the first level of meaning that permutes the cursors of collections, and
// gives random numbers and the sums of effects keys of their own.
const secretsLevel = 2

// cursorShift removes the bits of a hash that are zero at the start of a page. Pages that start
// elsewhere exist only for keys aimed at the same place. A scan does not end before such a
// page.
const cursorShift = 16
