package replication

import (
	"limitsrv/persist"
	"limitsrv/replication/link"
)

// errUncertain: a batch may or may not have been applied.
var errUncertain = persist.ErrUncertain

// Errors returned to clients when no leader decides.
var (
	errNoQuorum     = link.NewError("CLUSTERDOWN", "no majority of the cluster can be reached")
	errNoLeader     = link.NewError("CLUSTERDOWN", "the cluster has no leader")
	errLeaderSilent = link.NewError("CLUSTERDOWN", "the leader of the cluster does not answer")
	errNoMember     = link.NewError("CLUSTERDOWN", "this node is not a member of a cluster yet")
	errShort        = link.NewError("MISCONF", "nothing is decided because the disk of the leader is full; reads are "+
		"answered, and decisions when there is room again")
	errStopped = link.NewError("CLUSTERDOWN", "this node is shutting down")
	errLevel   = link.NewError("ERR",
		"the request can be carried out when all nodes of the cluster run this version of limitsrv or a later one")
	errBehind  = link.NewError("LOADING", "this node has not read the log of its cluster yet")
	errLoading = link.NewError("LOADING", "this node is not a member of a cluster yet")
)
