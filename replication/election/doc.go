// Package election lets the members of a cluster agree that their leader is silent, and makes
// one of them start an election of raft at once, sooner than raft's own timeouts would. It
// asks the other nodes through a function of Options. It imports raft, and knows no link.
package election
