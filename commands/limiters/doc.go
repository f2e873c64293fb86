// Package limiters has the commands on limits: RL.TOKEN and its kin, RL.ALL, leases, and the
// limiter commands of other systems. Package commands answers clients by them, package
// scripts calls them from scripts.
//
//	words -> spec.Ops.Parse -> engine.Op -> engine -> Decision -> spec.Ops.Reply
package limiters
