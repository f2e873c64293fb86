package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// options select the measurements and their durations.
type options struct {
	parts         list[string]
	algorithms    list[algorithm]
	distributions list[distribution]
	connections   list[int]
	pipelines     list[int]
	keys          int
	rounds        int
	duration      time.Duration
	sizes         list[int]
	snapshotKeys  int
	hugeKeys      int
	rate          int
	watch         time.Duration
	failover      failoverPlan
	stress        stressPlan
	arrivals      int
	data          string
	redisCell     string
	profile       string
	timeout       time.Duration
	quick         bool
	markdown      bool
}

// loads returns all loads of the experiment throughput.
func (o options) loads() []load {
	var all []load
	for _, a := range o.algorithms {
		for _, d := range o.distributions {
			for _, c := range o.connections {
				for _, p := range o.pipelines {
					all = append(all, load{algorithm: a, distribution: d, connections: c, pipeline: p, keys: o.keys})
				}
			}
		}
	}
	return all
}

// A list is a flag of several values, separated by commas.
type list[T ~string | ~int] []T

// String formats the list in the form that Set parses.
func (l *list[T]) String() string {
	var words []string
	for _, v := range *l {
		words = append(words, fmt.Sprint(v))
	}
	return strings.Join(words, ",")
}

// Set replaces the values.
func (l *list[T]) Set(text string) error {
	*l = nil
	for word := range strings.SplitSeq(text, ",") {
		var v T
		switch p := any(&v).(type) {
		case *int:
			n, err := strconv.Atoi(word)
			if err != nil {
				return fmt.Errorf("%q is not a number", word)
			}
			*p = n
		default:
			if _, err := fmt.Sscan(word, p); err != nil {
				return fmt.Errorf("%q is not a name", word)
			}
		}
		*l = append(*l, v)
	}
	return nil
}
