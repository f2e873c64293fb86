# Runs a library's scenario: run.rb LIBRARY PACKAGE HOST:PORT.

require "active_support"
require "active_support/cache"
require "active_support/cache/redis_cache_store"
require "active_support/notifications"
require "rack"
require "rack/attack"
require "redis"
require_relative "scenario"

LIBRARY, PACKAGE, ADDRESS = ARGV

# Errors of the server must not count as a miss.
ON_ERROR = ->(method:, returning:, exception:) { raise exception }

def cache_store
  ActiveSupport::Cache::RedisCacheStore.new(url: "redis://#{ADDRESS}/0", error_handler: ON_ERROR)
end

# Rack::Attack with a store, as a middleware in front of an application.
def rack_attack(store)
  lambda do |limit, seconds|
    Rack::Attack.cache.store = store.call
    Rack::Attack.throttle("p#{limit}", limit: limit, period: seconds) { |request| request.get_header("HTTP_X_KEY") if request.path == "/#{limit}" }
    app = Rack::Attack.new(->(_env) { [200, {}, ["ok"]] })
    lambda do |key|
      status, = app.call(Rack::MockRequest.env_for("/#{limit}", "HTTP_X_KEY" => key))
      raise "status #{status}" unless [200, 429].include?(status)

      status == 200
    end
  end
end

LIBRARIES = {
  "rack-attack" => rack_attack(-> { Redis.new(url: "redis://#{ADDRESS}/0") }),
  "rack-attack-rails-cache" => rack_attack(-> { cache_store }),
  "activesupport" => lambda do |limit, seconds|
    cache = cache_store
    lambda do |key|
      count = cache.increment("p#{limit}:#{key}", 1, expires_in: seconds)
      [count <= limit, [limit - count, 0].max]
    end
  end,
}.freeze

$stdout.sync = true
puts "version #{`dpkg-query -W -f '${Version}' #{PACKAGE}`}"
# Rack::Attack initializes a counter of Rails' cache in two steps.
play(LIBRARIES.fetch(LIBRARY), at_once: LIBRARY != "rack-attack-rails-cache")
