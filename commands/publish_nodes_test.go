package commands

import (
	"slices"
	"testing"

	"limitsrv/commands/session"
	"limitsrv/internal/status"
)

// A message goes to the subscribers of this node and, from everywhere but a script, to the other
// nodes; a message of another node goes to the subscribers of this node only.
func TestPublishReachesOtherNodes(t *testing.T) {
	c := newFakeCluster(status.Follower)
	h := newTestHandlerWith(session.Config{Cluster: c})
	client := session.Client{Close: func() {}, Wake: func() {}}
	listener, sender := h.NewSession(client), h.NewSession(client)
	defer listener.Close()
	defer sender.Close()
	ask(listener, "SUBSCRIBE ch")
	for _, tt := range []struct {
		name  string
		lines []string
		want  string
		sent  []string
	}{
		{"alone", []string{"PUBLISH ch a"}, ":1|", []string{"ch a"}},
		{"in a pipeline", []string{"PUBLISH ch b", "PUBLISH other c"}, ":1|:0|", []string{"ch b", "other c"}},
		{"in a transaction", []string{"MULTI", "PUBLISH ch d", "PUBLISH ch e", "EXEC"}, "+OK|+QUEUED|+QUEUED|*2|:1|:1|",
			[]string{"ch d", "ch e"}},
		{"in a discarded one", []string{"MULTI", "PUBLISH ch f", "DISCARD"}, "+OK|+QUEUED|+OK|", nil},
	} {
		c.published = nil
		if got := ask(sender, tt.lines...); got != tt.want || !slices.Equal(c.published, tt.sent) {
			t.Errorf("%s: answered %q, and %q went to the other nodes; want %q and %q", tt.name, got, c.published, tt.want,
				tt.sent)
		}
	}
	listener.Resume()
	listener.Out = listener.Out[:0]
	c.published = nil
	c.deliver([]byte("ch"), []byte("g"))
	listener.Resume()
	if got, want := string(listener.Out),
		"*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$1\r\ng\r\n"; got != want || len(c.published) > 0 {
		t.Errorf("a message of another node: the subscriber gets %q, and %q goes on to other nodes; want %q and none", got,
			c.published, want)
	}
}
