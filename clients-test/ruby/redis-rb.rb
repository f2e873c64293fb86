# frozen_string_literal: true

# The session of redis-rb, the gem redis.

require "redis"
require "stringio"
require_relative "session"

include Session

# Takes n tokens of a bucket of 10 with 10 per hour.
def take(redis, key, count = 1) = redis.call("RL.TOKEN", key, 10, "10/h", count)

def peek(redis, key) = redis.call("RL.PEEK", key)

$stdout.sync = true
redis = Redis.new(url: url("ADDR"))

test("connect") do
  $stderr = StringIO.new
  want(redis.ping, "PONG")
  want($stderr.string, "")
ensure
  $stderr = STDERR
end

decisions { |*words| redis.call(*words) }

test("pipeline") do
  want_piped(redis.pipelined { |pipe| 100.times { pipe.call("RL.TOKEN", "pipeline", 50, "50/h") } })
end

test("transaction") do
  replies = redis.multi do |both|
    take(both, "transaction:token", 4)
    both.call("RL.LOG", "transaction:log", 2, "1h")
  end
  want(replies, [[1, 10, 6, 0, 1_440_000], [1, 2, 1, 0, HOUR]])
  want_error(ARGUMENTS) { redis.multi { |short| short.call("RL.TOKEN", "transaction:token") } }
end

test("binary-keys") do
  BINARY_KEYS.each do |key|
    want(take(redis, key), FRESH)
    want(peek(redis, key), PEEKED)
  end
  want(BINARY_KEYS - redis.scan_each.map(&:b), [])
end

test("resp2") do
  want(Hash[*redis.call("HELLO")]["proto"], 2)
  want(take(redis, "resp2"), FRESH)
  want(peek(redis, "none"), nil)
end

none("resp3")

test("reconnect") do
  redis = Redis.new(url: url("RESTART_ADDR"))
  want(take(redis, "reconnect", 4), [1, 10, 6, 0, 1_440_000])
  restart
  want(again { take(redis, "reconnect", 4) }, [1, 10, 6, 0, 1_440_000])
end

test("wrong-password") do
  want_error("WRONGPASS") { Redis.new(url: url("PASSWORD_ADDR"), password: "wrong").ping }
  want_error("NOAUTH") { take(Redis.new(url: url("PASSWORD_ADDR")), "password") }
end

test("password") do
  want(take(Redis.new(url: url("PASSWORD_ADDR"), password: given("PASSWORD")), "password"), FRESH)
end

test("cluster") do
  cluster = Redis.new(cluster: [url("CLUSTER_ADDR")])
  CLUSTER_KEYS.each do |key|
    want(take(cluster, key), FRESH)
    want(peek(cluster, key), PEEKED)
  end
end

finish
