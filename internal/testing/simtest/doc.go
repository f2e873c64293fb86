// Package simtest supports simulations of nodes and their clients in virtual time. It has machines
// with clocks and disks that can be disturbed, the calls of clients, and a History that compares
// their answers with the log and with each other. It imports engine and the packages with calls.
// The simulations are TestSim of persist, for one node, and TestSim of replication, for clusters.
//
// All of it must be used in the same bubble of testing/synctest. A goroutine of the bubble
// that waits for a sync.Mutex stops virtual time, so no Mutex may be held while a disk
// hangs.
package simtest
