package values_test

import (
	"fmt"

	"limitsrv/engine/values"
	"limitsrv/engine/values/numbers"
)

// An owner keeps the Head of a value, and restores it in another Store from a snapshot.
func Example() {
	seed := [16]byte{1}
	store := values.New(seed)
	var head values.Head

	z := store.SortedSet(head)
	z.Add([]byte("a"), 1, 0)
	z.Add([]byte("b"), 2.5, 0)
	z.Add([]byte("c"), 4, 0)
	head = z.Head

	frozen := store.Freeze()
	z.RemoveRange(0, z.UpTo(2.5))
	head, frozenHead := z.Head, head
	part, _ := frozen.Append(nil, frozenHead, 0, 8<<10)
	store.Thaw()

	other := values.New(seed)
	restored, _, _, err := other.Parse(values.Head{}, part)
	fmt.Println(head.Count, restored.Count, restored.Ref.Encoding(), err)
	z = other.SortedSet(restored)
	walk := z.WalkDown(z.Count - 1)
	for member, score, ok := walk.Next(); ok; member, score, ok = walk.Next() {
		fmt.Printf("%s %s\n", member.Append(nil), numbers.AppendDouble(nil, score))
	}
	// Output:
	// 1 3 listpack <nil>
	// c 4
	// b 2.5
	// a 1
}
