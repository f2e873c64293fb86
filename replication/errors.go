package replication

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
	errStopped      = link.NewError("CLUSTERDOWN", "this node is shutting down")
	errNoCalls      = link.NewError("ERR", "a cluster has no plain values")
	errLoading      = link.NewError("LOADING", "this node is not a member of a cluster yet")
)

// strictJSON decodes one JSON value into to. Unknown fields and trailing bytes are errors.
func strictJSON(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%d bytes follow", len(data)-int(d.InputOffset()))
	}
	return nil
}
