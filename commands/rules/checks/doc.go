// Package checks decides requests by rules: it turns the limits that a request meets into a
// group of the engine, and the decisions on the group into an answer.
//
//	Request -> Check.Append -> ops of a batch -> Check.Answer -> Answer
//
// The commands RL.CHECK and RL.SETTLE, and the listeners for gRPC and HTTP, parse into a
// Request and render an Answer. The package has no clock, lock or I/O.
package checks
