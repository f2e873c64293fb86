// Package limiters has the commands on limits: RL.TOKEN and its kin, RL.ALL, leases, and the
// limiter commands of other systems. Package commands answers clients by them, package
// scripts calls them from scripts.
//
//	words -> Command.Op -> engine.Op -> engine -> Decision -> Command.Reply
package limiters
