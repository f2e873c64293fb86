package commands

import (
	"fmt"
	"maps"
	"slices"

	"limitsrv/commands/glob"
	"limitsrv/commands/resp"
)

var (
	errChannel       = resp.NewError("ERR", fmt.Sprintf("names of channels and patterns are at most %d bytes long", maxChannelBytes))
	errSubscriptions = resp.NewError("ERR", fmt.Sprintf("too many subscriptions: at most %d channels and patterns", maxSubscriptions))
)

var (
	subscribe = listenCommand("SUBSCRIBE", "channel [channel ...]", "Subscribes to channels; one reply for each.",
		func(s *Session, args [][]byte) { s.subscribe(toChannels, args[1:]) })
	unsubscribe = listenCommand("UNSUBSCRIBE", "[channel ...]", "Unsubscribes from the given channels, or from all.",
		func(s *Session, args [][]byte) { s.unsubscribe(toChannels, args[1:]) })
	pSubscribe = listenCommand("PSUBSCRIBE", "pattern [pattern ...]", "Subscribes to the channels that match patterns; one reply for each.",
		func(s *Session, args [][]byte) { s.subscribe(toPatterns, args[1:]) })
	pUnsubscribe = listenCommand("PUNSUBSCRIBE", "[pattern ...]", "Unsubscribes from the given patterns, or from all.",
		func(s *Session, args [][]byte) { s.unsubscribe(toPatterns, args[1:]) })
)

// listenCommand makes a command that answers once for each argument.
func listenCommand(name, args, summary string, run func(*Session, [][]byte)) Command {
	return Command{
		Name: name, Args: args, Summary: summary, Complexity: "O(N), N being the names", Since: "2.0.0", Group: "pubsub",
		Flags: PubSub | NoScript | Loading | Stale | NoMulti | Listener, Run: run,
	}
}

var publish = Command{
	Name: "PUBLISH", Args: "channel message", Summary: "Sends a message to all subscribers and returns the number of deliveries.",
	Complexity: "O(N+M), N being the subscribers and M the patterns", Since: "2.0.0", Group: "pubsub", Flags: PubSub | Loading | Stale | Fast | Reaches,
	Run: func(s *Session, args [][]byte) {
		if len(args[1]) > maxChannelBytes {
			s.w.Error(errChannel)
			return
		}
		s.w.Int(s.h.hub.publish(s, args[1], args[2]))
	},
}

var pubSub = Command{
	Name: "PUBSUB", Summary: "Commands about channels.",
	Complexity: "Depends on the subcommand", Since: "2.8.0", Group: "pubsub",
	Sub: []Command{
		pubSubSub("CHANNELS", "[pattern]", "Lists the channels with subscribers.", Reaches, runChannels),
		pubSubSub("NUMPAT", "", "Returns the number of patterns with subscribers.", 0, func(s *Session, _ [][]byte) {
			s.w.Int(int64(s.h.hub.sizes().patterns))
		}),
		pubSubSub("NUMSUB", "[channel ...]", "Returns the number of subscribers of each channel.", 0, runNumSub),
		pubSubSub("SHARDCHANNELS", "[pattern]", "Returns none: there are no shard channels.", 0, func(s *Session, _ [][]byte) { s.w.Array(0) }),
		pubSubSub("SHARDNUMSUB", "[shardchannel ...]", "Returns 0 for each: there are no shard channels.", 0, func(s *Session, args [][]byte) {
			s.w.Array(2 * (len(args) - 2))
			for _, name := range args[2:] {
				s.w.Bulk(name)
				s.w.Int(0)
			}
		}),
	},
}

// pubSubSub makes a subcommand of PUBSUB.
func pubSubSub(name, args, summary string, flags Flags, run func(*Session, [][]byte)) Command {
	return Command{
		Name: name, Args: args, Summary: summary, Complexity: "O(N), N being the channels", Since: "2.8.0", Group: "pubsub",
		Flags: flags | PubSub | Loading | Stale, Run: run,
	}
}

func runChannels(s *Session, args [][]byte) {
	if len(args) == 3 && len(args[2]) > maxChannelBytes {
		s.w.Error(errChannel)
		return
	}
	hub := s.h.hub
	hub.mu.RLock()
	names := slices.Sorted(maps.Keys(hub.channels))
	hub.mu.RUnlock()
	if len(args) == 3 {
		names = slices.DeleteFunc(names, func(name string) bool { return !glob.Match(args[2], []byte(name), glob.SameCase) })
	}
	s.w.BulkStrings(names)
}

func runNumSub(s *Session, args [][]byte) {
	hub := s.h.hub
	hub.mu.RLock()
	defer hub.mu.RUnlock()
	s.w.Array(2 * (len(args) - 2))
	for _, name := range args[2:] {
		s.w.Bulk(name)
		s.w.Int(int64(len(hub.channels[string(name)])))
	}
}

// hubSizes are the values of INFO.
type hubSizes struct{ channels, patterns, clients int }

func (h *hub) sizes() hubSizes {
	h.mu.RLock()
	defer h.mu.RUnlock()
	listeners := make(map[*Session]struct{})
	for _, a := range []audience{h.channels, h.patterns} {
		for _, sessions := range a {
			maps.Copy(listeners, sessions)
		}
	}
	return hubSizes{len(h.channels), len(h.patterns), len(listeners)}
}
