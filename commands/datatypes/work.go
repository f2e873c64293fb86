package datatypes

import (
	"fmt"

	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values/numbers"
)

// HasWork reports whether the work of the call with a number grows with the values at its keys.
func HasWork(number uint16) bool {
	return int(number) < len(calls) && calls[number] != nil && calls[number].Work != nil
}

// A workFunc is a spec.Call.Work.
type workFunc = func(tx *engine.Tx, args [][]byte) int

// The estimates are in units of some 25 ns of a processor, the time of a visit to an element with 64
// bytes. A session refuses commands by them, so that they must not be much too high. The work that
// Tx.AddWork counts is no time: its bounds are for the steps of scripts.
const (
	// workToAnswer is the work to visit an element, append it to the answer and send it.
	workToAnswer = 4
	// workToVisit is the work to visit an element.
	workToVisit = 1
	// workToMove is the work to move an element to another shard.
	workToMove = 7
	// workToStore is the work to copy a member of a sorted set into another.
	workToStore = 24
	// workToCut is the work to remove a member of a range of a sorted set.
	workToCut = 15
	// workToUnite is the work to find out whether a member is new, and to answer or store it.
	workToUnite = 10
	// workToLook is the work to look for a member in another set.
	workToLook = 3
	// workToTake is the work to remove an element of a set by its index.
	workToTake = 12
	// movedPerElement is the number of bytes of a long string that are copied, or cleared, in the
	// time of a visit.
	movedPerElement = 32
)

// workOfRangeStore is the work of ZRANGESTORE.
func workOfRangeStore(tx *engine.Tx, args [][]byte) int {
	return ranged(rangeCommand{directions: true, stores: true}, workToStore)(tx, args[1:])
}

// sizeAt returns the size of the value at a key: the number of its elements, or for a string its
// length in units of bytesPerElement.
func sizeAt(tx *engine.Tx, key []byte) int {
	e, there := tx.Find(key)
	if !there {
		return 0
	}
	return sizeOf(tx, e)
}

func sizeOf(tx *engine.Tx, e engine.Entry) int {
	switch e.Alg() {
	case engine.Hash:
		return tx.Hash(e).Count
	case engine.List:
		return tx.List(e).Count
	case engine.Set:
		return tx.Set(e).Count
	case engine.SortedSet:
		return tx.SortedSet(e).Count
	case engine.Blob:
		return tx.Len(e) / bytesPerElement
	}
	return 0
}

// whole is the work of a command that visits all elements of a value. each is the work for an
// element.
func whole(each int) workFunc {
	return func(tx *engine.Tx, args [][]byte) int { return each * sizeAt(tx, args[0]) }
}

// compared is the work of a command that compares all elements of a list with args[word].
func compared(word int) workFunc {
	return func(tx *engine.Tx, args [][]byte) int {
		return (workToVisit + len(args[word])/bytesPerElement) * sizeAt(tx, args[0])
	}
}

// popped is the work of a command that removes the number of elements that args[1] says. A negative
// number is an error, without work.
func popped(each int) workFunc {
	work := counted(each)
	return func(tx *engine.Tx, args [][]byte) int {
		if len(args) > 1 && len(args[1]) > 0 && args[1][0] == '-' {
			return 0
		}
		return work(tx, args)
	}
}

// counted is the work of a command on the number of elements that args[1] says. It looks at as many
// elements as a negative number says, also at the same element several times.
func counted(each int) workFunc {
	return func(tx *engine.Tx, args [][]byte) int {
		if len(args) < 2 {
			return 0
		}
		n, _ := numbers.ParseInt(args[1])
		size := sizeAt(tx, args[0])
		if n < 0 && size > 0 { // each time at another place
			return 2 * each * int(min(-max(n, -maxRepeated), maxRepeated))
		}
		return each * int(min(max(n, 0), int64(size)))
	}
}

func workOfScan(tx *engine.Tx, args [][]byte) int {
	size := sizeAt(tx, args[0])
	o, wrong := parseScan(tx, args[1:], true, size)
	if wrong != "" {
		return 0
	}
	each := workToAnswer
	if o.match != nil {
		each += 2 * o.match.Work(bytesPerElement) / matchedPerElement
	}
	return each * min(o.count, size)
}

func workOfListRange(tx *engine.Tx, args [][]byte) int {
	l, _, ok := findList(tx, args[0])
	start, ok2 := numbers.ParseInt(args[1])
	end, ok3 := numbers.ParseInt(args[2])
	if !ok || !ok2 || !ok3 {
		return 0
	}
	from, n := slice(start, end, l.Count)
	return workToAnswer*n + min(from, l.Count-from)/seekPerElement
}

// workOfTrim is the work of LTRIM: it counts the removed elements.
func workOfTrim(tx *engine.Tx, args [][]byte) int {
	l, _, _ := findList(tx, args[0])
	start, ok := numbers.ParseInt(args[1])
	end, ok2 := numbers.ParseInt(args[2])
	if !ok || !ok2 {
		return 0
	}
	_, n := slice(start, end, l.Count)
	return workToVisit * (l.Count - n)
}

func workOfIndex(tx *engine.Tx, args [][]byte) int {
	return sizeAt(tx, args[0]) / 2 / seekPerElement
}

// workOfListMove is the work of a list move. It counts the bytes of the longer of the list's two
// end elements.
func workOfListMove(tx *engine.Tx, args [][]byte) int {
	l, _, ok := findList(tx, args[0])
	if !ok || l.Count == 0 {
		return 0
	}
	return max(l.At(0).Len(), l.At(l.Count-1).Len()) / movedPerElement
}

// ranged is the work of a command on a range of a sorted set. each is the work for a member.
func ranged(c rangeCommand, each int) workFunc {
	return func(tx *engine.Tx, args [][]byte) int {
		n, _ := rangeOfSet(tx, c, args)
		return each * n
	}
}

// cut is the work of a command that removes a range of a sorted set. It takes no longer to remove
// all members than to remove one.
func cut(c rangeCommand) workFunc {
	return func(tx *engine.Tx, args [][]byte) int {
		n, all := rangeOfSet(tx, c, args)
		if n == all {
			return min(n, workToCut)
		}
		return workToCut * n
	}
}

// rangeOfSet returns the number of members in the range of a command, and of all members. It returns
// zeros if the command answers an error.
func rangeOfSet(tx *engine.Tx, c rangeCommand, args [][]byte) (n, all int) {
	o, wrong := c.parse(tx, args[1:])
	z, _, ok := findSortedSet(tx, args[0])
	if wrong != "" || !ok {
		return 0, 0
	}
	r := o.spec.in(&z, o.direction)
	r.limit(o.skipped, o.count)
	return r.n, z.Count
}

// combined is the work of a command on the sets at args[skipped:].
func combined(by operation, skipped int) workFunc {
	return func(tx *engine.Tx, args [][]byte) int { return workToCombine(tx, by, args[skipped:]) }
}

func workToCombine(tx *engine.Tx, by operation, keys [][]byte) int {
	all, least, first := 0, -1, sizeAt(tx, keys[0])
	for _, key := range keys {
		n := sizeAt(tx, key)
		if all += n; least < 0 || n < least {
			least = n
		}
	}
	each := workToAnswer + workToLook*len(keys)
	switch by {
	case union:
		return workToUnite * all
	case difference:
		return each * first
	}
	return each * least
}

func workOfCard(tx *engine.Tx, args [][]byte) int {
	n, ok := numbers.ParseInt(args[0])
	if !ok || n < 1 || n > int64(len(args)-1) {
		return 0
	}
	return workToCombine(tx, intersection, args[1:1+n])
}

// workOfPart is the work to answer a part of a string. It counts the bytes of the part.
func workOfPart(tx *engine.Tx, args [][]byte) int {
	e, has := findString(tx, args[0])
	from, ok := numbers.ParseInt(args[1])
	to, ok2 := numbers.ParseInt(args[2])
	if has != aString || !ok || !ok2 {
		return 0
	}
	if from, to, ok = rangeOf(from, to, int64(tx.Len(e))); !ok {
		return 0
	}
	return int(to-from) / movedPerElement
}

// grown is the work of a command that extends a string up to the position args[1], in units of
// 1/parts of a byte.
func grown(parts int64) workFunc {
	return func(tx *engine.Tx, args [][]byte) int {
		at, ok := numbers.ParseInt(args[1])
		if !ok || at < 0 {
			return 0
		}
		return workToGrow(tx, args[0], at/parts)
	}
}

// workToGrow is the work to extend the string of a key to a length of to bytes.
func workToGrow(tx *engine.Tx, key []byte, to int64) int {
	e, has := findString(tx, key)
	length := int64(0)
	if has == aString {
		length = int64(tx.Len(e))
	}
	return int(max(0, min(to, engine.MaxValueBytes)-length)) / movedPerElement
}

// workOfFields is the work of BITFIELD. It counts the bytes that the command may add.
func workOfFields(tx *engine.Tx, args [][]byte) int {
	var (
		o    overflow
		most int64
	)
	for rest := args[1:]; len(rest) > 0; {
		op, next, done, wrong := nextField(rest, &o)
		if done || wrong != "" {
			break
		}
		if op.verb != fieldGet {
			most = max(most, op.at/8)
		}
		rest = next
	}
	return workToGrow(tx, args[0], most)
}

// Works are the calls that spec.Command.SetWork makes, see spec.Family.
type Works struct{}

// Check accepts no call: they are made for looks only.
func (Works) Check(c *engine.Call) error { return fmt.Errorf("unknown command %d", c.Command) }

// Keys appends the indexes of the keys of the command.
func (Works) Keys(c *engine.Call, dst []int) (keys []int, all bool) {
	return appendKeys(dst, c.Command&^spec.WorkBit, c.Args), false
}

// Describe returns the name of the command.
func (Works) Describe(c *engine.Call) (name string, script []byte) {
	return table[c.Command&^spec.WorkBit].Name, nil
}

// Do answers the work.
func (Works) Do(tx *engine.Tx, c *engine.Call) {
	number := c.Command &^ spec.WorkBit
	first, end, step := table[number].Keys.Span(c.Args)
	for i := first; i < end; i += step {
		if k := len(c.Args[i]); k == 0 || k > engine.MaxKeyBytes {
			c.Answer = answer.AppendInt(c.Answer, 0)
			return
		}
	}
	c.Answer = answer.AppendInt(c.Answer, int64(calls[number].Work(tx, c.Args)))
}
