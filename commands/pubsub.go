package commands

import (
	"limitsrv/commands/glob"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/engine"
)

var (
	subscribe = subscribing(listenCommand("SUBSCRIBE", "channel [channel ...]",
		"Subscribes to channels; one reply for each.", runSubscribe(session.ToChannels, "subscribe")))
	unsubscribe = listenCommand("UNSUBSCRIBE", "[channel ...]", "Unsubscribes from the given channels, or from all.",
		runUnsubscribe(session.ToChannels, "unsubscribe"))
	pSubscribe = subscribing(listenCommand("PSUBSCRIBE", "pattern [pattern ...]", "Subscribes to the channels that "+
		"match patterns; one reply for each.", runSubscribe(session.ToPatterns, "psubscribe")))
	pUnsubscribe = listenCommand("PUNSUBSCRIBE", "[pattern ...]", "Unsubscribes from the given patterns, or from all.",
		runUnsubscribe(session.ToPatterns, "punsubscribe"))
)

// runSubscribe makes the Run that subscribes to names of a kind; verb is the first word of
// its answers.
func runSubscribe(k session.Kind, verb string) session.Run {
	return func(s *session.Session, w *resp.Writer, args [][]byte) {
		if err := s.Subscribe(k, args[1:], answerSubscription(w, verb)); err != nil {
			w.Error(err)
		}
	}
}

// runUnsubscribe makes the Run that ends subscriptions of a kind.
func runUnsubscribe(k session.Kind, verb string) session.Run {
	return func(s *session.Session, w *resp.Writer, args [][]byte) {
		s.Unsubscribe(k, args[1:], answerSubscription(w, verb))
	}
}

// answerSubscription returns a function that writes an answer; name is nil if there was no
// subscription.
func answerSubscription(w *resp.Writer, verb string) func(name []byte, count int) {
	return func(name []byte, count int) {
		w.Push(3)
		w.BulkString(verb)
		if name == nil {
			w.Null()
		} else {
			w.Bulk(name)
		}
		w.Int(int64(count))
	}
}

// listenCommand makes a command that answers once for each argument.
func listenCommand(name, args, summary string, run session.Run) spec.Command {
	return spec.Command{
		Name: name, Args: args, Summary: summary, Complexity: "O(N), N being the names", Since: "2.0.0", Group: "pubsub",
		Flags: spec.PubSub | spec.NoScript | spec.Loading | spec.Stale | spec.Listener, Body: run,
	}
}

// subscribing makes a command require rights on its arguments, which are channels or patterns.
func subscribing(c spec.Command) spec.Command {
	c.Flags |= spec.Reaches
	c.Channels, c.Patterns = spec.ManyKeys, c.Name == "PSUBSCRIBE"
	return c
}

var publish = spec.Command{
	Channels: spec.OneKey,

	Name: "PUBLISH", Args: "channel message",
	Summary:    "Sends a message to all subscribers, on all nodes, and returns the number of deliveries on this node.",
	Complexity: "O(N+M), N being the subscribers and M the patterns", Since: "2.0.0", Group: "pubsub",
	Flags: spec.PubSub | spec.Loading | spec.Stale | spec.Fast | spec.Reaches,
	Body: session.Run(func(s *session.Session, w *resp.Writer, args [][]byte) {
		if len(args[1]) > engine.MaxChannelBytes {
			w.Error(session.ErrChannel)
			return
		}
		w.Int(s.Publish(args[1], args[2]))
	}),
}

var pubSub = spec.Command{
	Name: "PUBSUB", Summary: "Commands about channels.",
	Complexity: "See its subcommands", Since: "2.8.0", Group: "pubsub",
	Body: &spec.Container{Sub: []spec.Command{
		surplus(long(pubSubSub("CHANNELS", "[pattern]", "Lists the channels with subscribers.", spec.Reaches, runChannels))),
		pubSubSub("NUMPAT", "", "Returns the number of patterns with subscribers.", 0,
			func(s *session.Session, w *resp.Writer, _ [][]byte) {
				w.Int(int64(s.Handler().Hub().Sizes().Patterns))
			}),
		pubSubSub("NUMSUB", "[channel ...]", "Returns the number of subscribers of each channel.", spec.Reaches, runNumSub),
		surplus(pubSubSub("SHARDCHANNELS", "[pattern]", "Returns none: there are no shard channels.", 0,
			func(_ *session.Session, w *resp.Writer, _ [][]byte) { w.Array(0) })),
		pubSubSub("SHARDNUMSUB", "[shardchannel ...]", "Returns 0 for each: there are no shard channels.", 0,
			func(_ *session.Session, w *resp.Writer, args [][]byte) {
				w.Array(2 * (len(args) - 2))
				for _, name := range args[2:] {
					w.Bulk(name)
					w.Int(0)
				}
			}),
	}},
}

// surplus makes a subcommand reject a line with too many words with Redis' error.
func surplus(c spec.Command) spec.Command {
	c.Surplus = session.BadSubcommand
	return c
}

// pubSubSub makes a subcommand of PUBSUB.
func pubSubSub(name, args, summary string, flags spec.Flags, run session.Run) spec.Command {
	return spec.Command{
		Name: name, Args: args, Summary: summary, Complexity: "O(N), N being the channels", Since: "2.8.0", Group: "pubsub",
		Flags: flags | spec.PubSub | spec.Loading | spec.Stale, Body: run,
	}
}

func runChannels(s *session.Session, w *resp.Writer, args [][]byte) {
	if len(args) == 3 && len(args[2]) > engine.MaxChannelBytes {
		w.Error(session.ErrChannel)
		return
	}
	pattern := []byte("*")
	if len(args) == 3 {
		pattern = args[2]
	}
	m, a := glob.NewMatcher(pattern, glob.SameCase), s.Account()
	all := a == nil || a.Rights().AnyChannel()
	w.BulkStrings(s.Handler().Hub().Channels(func(name string) bool {
		return m.Match([]byte(name)) && (all || a.Rights().MayUseChannel([]byte(name), false))
	}))
}

func runNumSub(s *session.Session, w *resp.Writer, args [][]byte) {
	channels := args[2:]
	counts := s.Handler().Hub().Subscribers(channels)
	w.Array(2 * len(channels))
	for i, name := range channels {
		w.Bulk(name)
		w.Int(int64(counts[i]))
	}
}
