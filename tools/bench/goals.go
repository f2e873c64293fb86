package main

import "fmt"

// A goal is a figure that limitsrv must reach, relative to Redis with a Lua token bucket
// or absolute.
type goal struct {
	name  string
	order order
	bound float64
	unit  string
}

// An order is the direction of a bound.
type order string

const (
	atLeast order = "at least"
	atMost  order = "at most"
)

// A check says whether a goal, in words, is met. The zero value is no goal.
type check struct {
	asked string
	met   bool
}

// check compares value with the goal.
func (g goal) check(value float64) check {
	met := value <= g.bound
	if g.order == atLeast {
		met = value >= g.bound
	}
	return check{fmt.Sprintf("%s %g%s", g.order, g.bound, g.unit), met}
}

// verdict is the last cell of a goal's row.
func (c check) verdict() string {
	switch {
	case c.asked == "":
		return ""
	case c.met:
		return "met"
	}
	return "NOT MET"
}

// goals are the goals of the experiments that compare figures, in the order of their
// table. Rows of the table under stress name their own.
var goals = []goal{
	{"decisions per second, pipeline 1", atLeast, 1, "x"},
	{"server CPU per decision, pipeline 1", atMost, 0.55, "x"},
	{"decisions per second, pipeline 16", atLeast, 7, "x"},
	{"decisions per second, pipeline 64", atLeast, 14, "x"},
	{"server CPU per decision, pipeline 64", atMost, 0.07, "x"},
	{"decisions per second, pipeline 64, log", atLeast, 6, "x"},
	{resetGoal, atMost, 1.1, "x"},
	{"SET per second, pipeline 1", atLeast, 1, "x"},
	{"GET per second, pipeline 1", atLeast, 1, "x"},
	{"INCR per second, pipeline 1", atLeast, 1, "x"},
	{"SET per second, pipeline 64", atLeast, 1.5, "x"},
	{"GET per second, pipeline 64", atLeast, 1.5, "x"},
	{"INCR per second, pipeline 64", atLeast, 1.5, "x"},
	{"scripts per second, pipeline 1", atLeast, 1, "x"},
	{"server CPU per script, pipeline 1", atMost, 0.8, "x"},
	{"server CPU per script, dearest counter, 500 keys", atMost, 0.25, "x"},
	{"server CPU per script, dearest counter, 1 M keys", atMost, 0.33, "x"},
	{"server CPU per script, mean of all, 500 keys", atMost, 0.2, "x"},
	{"server CPU of RL.CHECK over RL.ALL, one limit, pipeline 16", atMost, 1.25, "x"},
	{"server CPU of RL.CHECK over RL.ALL, one limit, pipeline 64", atMost, 1.25, "x"},
	{"server CPU of RL.CHECK over RL.ALL, one limit, one of 100 rules, pipeline 16", atMost, 1.25, "x"},
	{"server CPU of RL.CHECK over RL.ALL, one limit, one of 100 rules, pipeline 64", atMost, 1.25, "x"},
	{"server CPU of RL.CHECK over RL.ALL, three limits, pipeline 16", atMost, 1.25, "x"},
	{"server CPU of RL.CHECK over RL.ALL, three limits, pipeline 64", atMost, 1.25, "x"},
	{"worst pause while growing from 1 M to 10 M keys", atMost, 5, " ms"},
	{"resident bytes per key, 3 M token buckets", atMost, 64, ""},
	{"resident bytes per key, 10 M token buckets", atMost, 64, ""},
	{"fsync everysec over in memory, pipeline 1", atLeast, 0.9, "x"},
	{"fsync everysec over in memory, pipeline 64", atLeast, 0.8, "x"},
	{"fsync always over Redis' always, pipeline 16", atLeast, 5, "x"},
	{"snapshot of 10 M keys", atMost, 5, " s"},
	{"p99 of a load during it over before", atMost, 2, "x"},
	{"p99 of a prober during it over before", atMost, 2, "x"},
	{"bytes on disk per key after it", atMost, 80, ""},
	{"restart with 10 M keys", atMost, 10, " s"},
	{"restart with 10 M keys after kill -9 under load", atMost, 10, " s"},
}

// goalKeys is the number of keys of a load that has a goal.
const goalKeys = 1_000_000

// A measurement is the measured figure of a goal.
type measurement struct {
	value float64
	text  string
}

// recordFigure records a figure for the goal of that name, if it exists.
func (r *report) recordFigure(name string, value float64, text string) {
	if r.measured == nil {
		r.measured = map[string]measurement{}
	}
	r.measured[name] = measurement{value, text}
}

func (r *report) recordRatio(name string, f figure) { r.recordFigure(name, f.median, ratioText(f)) }

// goalRows returns each goal with its figure and the verdict.
func (r *report) goalRows() []row {
	rows := []row{{"target (50 connections, uniform, 1 M keys where none are named)", "wanted", "measured", "verdict"}}
	for _, g := range goals {
		got, ok := r.measured[g.name]
		c := g.check(got.value)
		cells := row{g.name, c.asked, got.text, c.verdict()}
		if !ok {
			cells = row{g.name, c.asked, "-", "not measured"}
		}
		rows = append(rows, cells)
	}
	return rows
}
