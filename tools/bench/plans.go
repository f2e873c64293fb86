package main

import "time"

// A failoverPlan is the load and the schedule of a failover test.
type failoverPlan struct {
	clients  int
	pipeline int
	rate     int // requests per second, of all clients
	keys     int
	before   time.Duration // from the start of the load to the fault
	during   time.Duration // duration of the isolation
	after    time.Duration
}

// defaultFailover is the plan of figures. An isolated leader returns well after another
// leader is elected.
var defaultFailover = failoverPlan{16, 16, 50_000, 100, 2 * time.Second, 4 * time.Second, 4 * time.Second}

// capacity is the capacity of each key. It is low enough that some keys are exhausted
// before the load ends, even if no permit is granted twice.
func (d failoverPlan) capacity() int64 {
	asked := float64(d.rate) * (d.before + d.during + d.after).Seconds()
	return int64(0.7 * asked / float64(d.keys))
}

// A stressPlan is the intensity of the stress tests.
type stressPlan struct {
	connections int           // concurrent, idle and then active
	rate        int           // decisions per second of all active connections
	othersRate  int           // decisions per second of the measured clients
	watch       time.Duration // duration of each measurement
	hostile     int           // connections of each kind of hostile client
	commands    int           // of a pipeline
	live        int           // keys that a flood must not change
	existing    int           // keys used by the other clients
	floodKeys   int           // distinct keys of a flood
	floodRate   int           // requests per second of a flood
	floodRounds int           // rounds of a flood
	floodMemory int           // --max-memory in MB
	writeWait   time.Duration // --write-timeout for clients that do not read
}

// longStress is the plan of figures.
var longStress = stressPlan{
	connections: 10_000,
	rate:        10_000,
	othersRate:  2000,
	watch:       5 * time.Second,
	hostile:     100,
	commands:    1_000_000,
	live:        100_000,
	existing:    100_000,
	floodKeys:   50_000_000,
	floodRate:   200_000,
	floodRounds: 10,
	floodMemory: 256,
	writeWait:   2 * time.Second,
}

// shortStress is the plan of -quick.
var shortStress = stressPlan{
	connections: 500,
	rate:        2000,
	othersRate:  1000,
	watch:       300 * time.Millisecond,
	hostile:     10,
	commands:    50_000,
	live:        1000,
	existing:    1000,
	floodKeys:   200_000,
	floodRate:   200_000,
	floodRounds: 2,
	floodMemory: 8,
	writeWait:   200 * time.Millisecond,
}
