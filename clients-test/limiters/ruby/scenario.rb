# The scenario of a limiter, as ../README.md describes it.

DAY = 86400 # seconds, so long that no limit of burst and crowd is refilled

# Prints the transcript of the limiters that factory.call(limit, seconds) creates. Each
# limiter has connections of its own. It is a function of the key that returns whether the
# request is allowed, or [that, remaining requests]. Without at_once the library is exact
# only for sequential requests.
def play(factory, at_once: true)
  limiter = factory.call(5, DAY)
  puts "burst #{Array.new(8) { sign(limiter.call("a")) }.join(" ")}"
  other = factory.call(5, DAY)
  puts "keys #{sign(other.call("b"))} #{sign(other.call("a"))} #{sign(limiter.call("b"))}"
  crowd = factory.call(20, DAY)
  taken = at_once ? Array.new(50) { Thread.new { crowd.call("c") } }.map(&:value) : Array.new(50) { crowd.call("c") }
  puts "crowd #{taken.count { |t| allowed?(t) }} of 50"
  refill(factory.call(3, 1))
end

# Uses up a limiter of 3 requests per second, and waits until it is full again.
def refill(limiter)
  return puts "refill: never denied" if Array.new(100) { allowed?(limiter.call("d")) }.all?

  sleep 2.2
  puts "refill #{Array.new(3) { allowed?(limiter.call("d")) ? "+" : "-" }.join(" ")}"
end

def allowed?(taken)
  taken.is_a?(Array) ? taken[0] : taken
end

def sign(taken)
  return "-" unless allowed?(taken)

  taken.is_a?(Array) ? "+#{taken[1]}" : "+"
end
