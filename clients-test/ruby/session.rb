# frozen_string_literal: true

# The parts of a session in Ruby: the addresses of the servers, the lines of output, the
# checks of replies, and the cases of single commands.
module Session
  # A reply differs from the expected one.
  class Mismatch < StandardError
    def initialize(got, want)
      super("got #{got.inspect}, want #{want.inspect}")
    end
  end

  HOUR = 3_600_000

  # A duration in milliseconds, or up to a minute less: the remainder of a time seen earlier in the case.
  def self.lately(millis) = (millis - 60_000)..millis

  # The first reply to RL.TOKEN with 10 10/h, and the reply of RL.PEEK after it.
  FRESH = [1, 10, 9, 0, 360_000].freeze
  PEEKED = ["TOKEN", 10, 9, 0, lately(360_000)].freeze

  ARGUMENTS = "ERR wrong number of arguments for 'rl.token' command; usage: RL.TOKEN key capacity rate [n] [PARTIAL] [SHADOW] [ONCE id [FOR duration]]"

  # Keys with arbitrary bytes.
  BINARY_KEYS = [(0..255).to_a.pack("C*"), "a\r\nb".b, "\0".b].freeze

  # Keys in different slots: CRC16 differs if only the last byte differs.
  CLUSTER_KEYS = (0...32).map { |i| "cluster:#{(65 + i).chr}" }.freeze

  # An environment variable by its name without LIMITSRV_; see ../README.md.
  def given(name) = ENV["LIMITSRV_#{name}"]

  # Returns the URL of a server.
  def url(server) = "redis://#{given(server)}"

  # Fails unless a reply matches; returns the reply.
  def want(got, want)
    raise Mismatch.new(got, want) unless matches?(got, want)

    got
  end

  def matches?(got, want)
    case want
    when Array
      got.is_a?(Array) && got.size == want.size && got.zip(want).all? { |g, w| matches?(g, w) }
    when Range
      got.is_a?(Integer) && want.cover?(got)
    else
      got == want
    end
  end

  # Fails unless the block raises an error with this text, or with this code followed by any text.
  def want_error(want)
    got = yield
    raise Mismatch.new(got, "error #{want}")
  rescue Redis::BaseError => e
    code = !want.include?(" ") && e.message.start_with?("#{want} ")
    raise Mismatch.new(e.message, "error #{want}") unless code || e.message.rstrip == want
  end

  # Fails unless these are the replies to a pipeline of 100 times RL.TOKEN with 50 50/h.
  def want_piped(replies)
    want(replies.size, 100)
    replies.each_with_index do |reply, i|
      want(reply, i < 50 ? [1, 50, 49 - i, 0, 0..HOUR] : [0, 50, 0, Session.lately(72_000), 0..HOUR])
    end
  end

  # Restarts the server at RESTART_ADDR.
  def restart = want(system(given("RESTART")), true)

  # Repeats the block until it does not raise, for up to 10 s.
  def again
    ends = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 10
    begin
      yield
    rescue Redis::BaseConnectionError
      raise if Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends

      sleep 0.05
      retry
    end
  end

  # Runs a case and prints its line.
  def test(name)
    return if name == "cluster" && given("CLUSTER_ADDR").nil?

    yield
    puts "ok #{name}"
  rescue StandardError => e
    @failed = true
    message = e.is_a?(Mismatch) ? e.message : "got error #{e.message.inspect}, want none"
    puts "FAIL #{name}: #{message.gsub("\n", '\n')}"
  end

  # Reports that the client has no support for the case.
  def none(name) = puts("none #{name}")

  def finish = exit(@failed ? 1 : 0)

  # Runs the cases of single commands. The block sends the words of a command.
  def decisions(&ask)
    hour = Session.lately(HOUR)
    test("decide-token") do
      want(ask.("RL.TOKEN", "token", 10, "10/h"), FRESH)
      want(ask.("RL.TOKEN", "token", 10, "10/h", 9), [1, 10, 0, 0, hour])
      want(ask.("RL.TOKEN", "token", 10, "10/h"), [0, 10, 0, Session.lately(360_000), hour])
      want(ask.("RL.TOKEN", "token", 10, "10/h", 11), [0, 10, 0, -1, hour])
    end
    test("decide-leaky") do
      want(ask.("RL.LEAKY", "leaky", 2, "2/h"), [1, 2, 1, 0, 1_800_000])
      want(ask.("RL.LEAKY", "leaky", 2, "2/h"), [1, 2, 0, Session.lately(1_800_000), hour])
      want(ask.("RL.LEAKY", "leaky", 2, "2/h"), [0, 2, 0, Session.lately(1_800_000), hour])
    end
    test("decide-fixed") do
      first = want(ask.("RL.FIXED", "fixed", 2, "year"), [1, 2, 1, 0, 1..31_622_400_000])
      left = Session.lately(first[4])
      second = want(ask.("RL.FIXED", "fixed", 2, "year", 2), [0, 2, 1, left, left])
      want(second[3], second[4])
    end
    test("decide-slide") do
      first = want(ask.("RL.SLIDE", "slide", 2, "365d"), [1, 2, 1, 0, 1..63_072_000_000])
      want(ask.("RL.SLIDE", "slide", 2, "365d", 2), [0, 2, 1, 1..first[4], Session.lately(first[4])])
    end
    test("decide-log") do
      want(ask.("RL.LOG", "log", 2, "1h"), [1, 2, 1, 0, HOUR])
      want(ask.("RL.LOG", "log", 2, "1h", 2), [0, 2, 1, hour, hour])
      want(ask.("RL.LOG", "log", 2, "1h", 2, "PARTIAL"), [1, 2, 0, 0, hour])
      want(ask.("RL.LOG", "log", 2, "1h", 1, "SHADOW"), [1, 2, 0, hour, hour])
    end
    test("acquire-release") do
      want(ask.("RL.ACQUIRE", "places", 1, "1h", "a"), [1, 1, 0, 0, HOUR])
      want(ask.("RL.ACQUIRE", "places", 1, "1h", "b"), [0, 1, 0, hour, hour])
      want(ask.("RL.RELEASE", "places", "a"), 1)
      want(ask.("RL.RELEASE", "places", "a"), 0)
      want(ask.("RL.ACQUIRE", "places", 1, "1h", "b"), [1, 1, 0, 0, HOUR])
    end
    test("all") do
      both = ["RL.ALL", "TOKEN", "all:user", 10, "10/h", 1, "LOG", "all:ip", 1, "1h", 1]
      want(ask.(*both), [1, 1, FRESH, [1, 1, 0, 0, HOUR]])
      want(ask.(*both), [0, 1, [1, 10, 9, 0, Session.lately(360_000)], [0, 1, 0, hour, hour]])
    end
    test("peek-refund-charge") do
      want(ask.("RL.PEEK", "peek"), nil)
      want(ask.("RL.REFUND", "peek", 1), nil)
      want(ask.("RL.CHARGE", "peek", 1), nil)
      want(ask.("RL.TOKEN", "peek", 10, "10/h", 4), [1, 10, 6, 0, 1_440_000])
      want(ask.("RL.PEEK", "peek"), ["TOKEN", 10, 6, 0, Session.lately(1_440_000)])
      want(ask.("RL.REFUND", "peek", 2), [1, 10, 8, 0, Session.lately(720_000)])
      want(ask.("RL.CHARGE", "peek", 10), [1, 10, 0, Session.lately(720_000), Session.lately(4_320_000)])
      want(ask.("RL.RESET", "peek"), 1)
    end
    test("errors") do
      want_error("ERR unknown command 'RL.NOSUCH', with args beginning with: 'k'") { ask.("RL.NOSUCH", "k") }
      want_error(ARGUMENTS) { ask.("RL.TOKEN", "k") }
      want_error("ERR capacity must be a whole number from 0 to 1000000000000, got '-1'") { ask.("RL.TOKEN", "k", -1, 1) }
      want(ask.("PING"), "PONG")
    end
    test("wrongtype") do
      want(ask.("RL.TOKEN", "type", 10, "10/h"), FRESH)
      want_error("WRONGTYPE") { ask.("RL.FIXED", "type", 10, 60) }
    end
  end
end
