package reservations

import (
	"bytes"
	"encoding/binary"

	"limitsrv/commands/weighing"
	"limitsrv/engine"
)

// MaxNames bounds the names of amounts of a reservation, so that its record stays below engine.MaxRecordBytes.
const MaxNames = 256

// maxWeights bounds the weights of a reservation.
const maxWeights = engine.MaxGroup * weighing.MostNames

// A Weight is the number of tokens that one unit of a named amount takes from a limit.
type Weight struct {
	Limit      int    // index of the limit; guards are not counted
	Name       int    // index of the name
	Millionths uint64 // 0 to weighing.Million * weighing.MaxWeight
}

// appendNames appends the number of names; of each its length and its bytes; the number of weights; and of each
// the limit, the name and the millionths.
func appendNames(dst []byte, names [][]byte, weights []Weight) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(names)))
	for _, name := range names {
		dst = appendText(dst, name)
	}
	dst = binary.AppendUvarint(dst, uint64(len(weights)))
	for i := range weights {
		x := &weights[i]
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(x.Limit)), uint64(x.Name))
		dst = binary.AppendUvarint(dst, x.Millionths)
	}
	return dst
}

func appendText(dst, text []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// names appends the output of appendNames to names and weights. The names refer to the data. It sets r.bad if
// names or weights are not in ascending order.
func (r *reader) names(names [][]byte, weights []Weight) ([][]byte, []Weight) {
	for n := r.count(1, MaxNames); n > 0 && !r.bad; n-- {
		name := r.name()
		if last := len(names) - 1; last >= 0 && bytes.Compare(names[last], name) >= 0 {
			r.bad = true
		}
		names = append(names, name)
	}
	last := Weight{Limit: -1}
	for n := r.count(0, maxWeights); n > 0 && !r.bad; n-- {
		x := Weight{Limit: r.count(0, engine.MaxGroup-1), Name: r.count(0, len(names)-1),
			Millionths: uint64(r.count(0, weighing.Million*weighing.MaxWeight))}
		if x.Limit < last.Limit || x.Limit == last.Limit && x.Name <= last.Name {
			r.bad = true
		}
		weights, last = append(weights, x), x
	}
	return names, weights
}

// count reads a number, and sets r.bad unless it is from least to most.
func (r *reader) count(least, most int) int {
	n := r.uvarint()
	if n < int64(least) || n > int64(most) {
		r.data, r.bad = nil, true
		return least
	}
	return int(n)
}

// name reads a name of an amount.
func (r *reader) name() []byte {
	length := r.count(1, weighing.MaxNameBytes)
	if r.bad || length > len(r.data) || !weighing.IsName(r.data[:length]) {
		r.data, r.bad = nil, true
		return nil
	}
	name := r.data[:length:length]
	r.data = r.data[length:]
	return name
}
