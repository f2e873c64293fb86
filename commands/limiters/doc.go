// Package limiters has the commands on limits: RL.TOKEN and its kin, RL.ALL, leases, and the
// limiter commands of other systems. Package commands answers clients by them, package
// scripts calls them from scripts.
//
//	words -> spec.Ops.Parse -> engine.Op -> engine -> Decision -> spec.Ops.Reply
//
// A script gets the same reply: Caller parses it. So each command has one Reply, and a Writer has no
// second form, for which each reply to a client would pay.
package limiters
