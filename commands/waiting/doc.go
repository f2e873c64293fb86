// Package waiting lets clients of this node wait for elements of lists, as with BLPOP.
//
// It imports engine, for the batches of calls, and answer. It does not execute a batch itself.
//
// A client takes an element by an ordinary call, an attempt, which has its place in the log
// like any other: at once, and again when a list that it waits for has grown on this node.
// If another node's client was faster, it keeps its place in line. So there is nothing about
// clients in the state, and a node that fails takes no element with it.
//
// # Promises
//
//   - At most one attempt of a client is in flight. A list that has grown to n elements gets
//     the attempts of the first n clients in line without an attempt in flight, in a single
//     batch, in their order.
//   - A growth during an attempt is tried after it, so no growth is missed.
//   - If several lists have grown, the first that did is tried first, as in Redis.
//   - An element goes to one client. If that is gone, it goes to the next in line, or back to
//     the end of the list that it came from. It is lost only if this node fails in between,
//     or can not tell whether the call was executed.
//   - A client that joins takes no element for which others wait longer on this node.
package waiting
