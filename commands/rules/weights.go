package rules

import (
	"limitsrv/commands/rules/source"
	"limitsrv/commands/weighing"
)

// weigh returns the sum of amounts times their weights, rounded up to a whole number. ok is false beyond
// engine.MaxN.
func weigh(weights []source.Weight, all []weighing.Amount) (n int64, ok bool) {
	var sum weighing.Sum
	for i := range all {
		a := &all[i]
		for j := range weights {
			if w := &weights[j]; w.Name == string(a.Name) {
				sum.Add(a.N, uint64(w.Millionths))
				break
			}
		}
	}
	return sum.Tokens()
}
