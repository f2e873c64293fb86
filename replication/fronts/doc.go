// Package fronts has the calls that fronts make, and the part of a member that answers them. A
// front is a node without state: it forwards the requests of its clients to the leader of a group.
//
// A front calls Find at the nodes that it knows, until one of them leads. At the leader it then
// always has a call of Watch in flight. The leader answers when the texts of its engine have
// changed, when there are messages for clients, or lists that have grown, or after a time. With
// Texts a front copies the documents and the sources. With Read it reads keys outside of batches, and
// with Ask it has the commands answered that need more of the state.
package fronts
