package replication

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Errors returned to clients when no leader decides.
var (
	errNoQuorum     = &codedError{"CLUSTERDOWN", "no majority of the cluster can be reached"}
	errNoLeader     = &codedError{"CLUSTERDOWN", "the cluster has no leader"}
	errLeaderSilent = &codedError{"CLUSTERDOWN", "the leader of the cluster does not answer"}
	errNoMember     = &codedError{"CLUSTERDOWN", "this node is not a member of a cluster yet"}
	errStopped      = &codedError{"CLUSTERDOWN", "this node is shutting down"}
	errLoading      = &codedError{"LOADING", "this node is not a member of a cluster yet"}
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
