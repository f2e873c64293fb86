// Package link connects the nodes of a cluster over a single port for each node. There are
// links for raft, for forwarded batches, for messages and for calls.
//
// It owns the greeting of a link, which names its kind and both nodes, the admission and
// refusal of nodes, the cluster secrets, TLS, the bounds on connections, and frames. It
// imports certs, files, persist for an error, and raft for its StreamLayer. It knows
// nothing of membership and batches: the node passes its identity, answers calls and
// serves links for forwarded batches through functions of Options.
//
// # What is promised
//
//   - With a cluster secret, both sides of a link prove the secret before either reveals
//     anything, and all later bytes are encrypted and authenticated: see sealDialed and
//     sealedConn. With TLS, each side presents a certificate for the host of its address.
//   - A link, except for a call, is between nodes of the same cluster, and with the dialed
//     node if its id was given.
//   - Connections that have not greeted are bounded. Beyond the bound the oldest connection
//     of the host with the most is closed, so they displace no link.
package link
