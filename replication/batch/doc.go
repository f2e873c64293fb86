// Package batch takes requests to the node that decides: into the log of this node if it leads, or
// else to the leader. It holds requests while no leader is known. It knows neither raft nor the
// state: a Leader puts requests into the log. A node without state can use it too, without a Leader.
// A Round has a single answer for all callers that wait for it.
//
// It imports persist for the error of an uncertain outcome; persist/commit for the queue and the
// groups; forward, which defines the requests and takes them to the leader; and storage for the
// address of a node.
package batch
