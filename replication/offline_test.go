package replication

import "limitsrv/replication/offline"

// offlineOptions returns the options for the files of a node with these options.
func offlineOptions(o Options) offline.Options {
	return offline.Options{Dir: o.Dir, Raft: o.Raft, Logger: o.Logger, FS: o.fs, Stores: o.stores, Boot: o.boot,
		Level: o.level}
}
