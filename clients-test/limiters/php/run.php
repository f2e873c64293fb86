<?php
// Runs a library's scenario: run.php LIBRARY PACKAGE HOST:PORT.

require 'Illuminate/Cache/autoload.php';
require 'Illuminate/Redis/autoload.php';
require 'Symfony/Component/Cache/autoload.php';
require 'Symfony/Component/RateLimiter/autoload.php';
require 'scenario.php';

[, $library, $package, $address] = $argv;

/** Laravel's cache on the server, by phpredis. */
function laravel(): Illuminate\Redis\RedisManager
{
    global $address;
    [$host, $port] = explode(':', $address);
    return new Illuminate\Redis\RedisManager(null, 'phpredis', ['default' => ['host' => $host, 'port' => $port, 'database' => 0]]);
}

function laravelRateLimiter(int $limit, int $seconds): array
{
    $limiter = new Illuminate\Cache\RateLimiter(new Illuminate\Cache\Repository(new Illuminate\Cache\RedisStore(laravel(), "p$limit:")));
    return [
        'take' => function (string $key) use ($limiter, $limit, $seconds) {
            if ($limiter->tooManyAttempts($key, $limit)) {
                return [false, 0];
            }
            return [true, $limit - $limiter->hit($key, $seconds)];
        },
        'reset' => fn (string $key) => $limiter->clear($key),
        'sequential' => true, // it asks and counts in two steps
    ];
}

function laravelDuration(int $limit, int $seconds): array
{
    $redis = laravel();
    return ['take' => fn (string $key) => $redis->connection()->throttle("p$limit:$key")->block(0)->allow($limit)->every($seconds)
        ->then(fn () => true, fn () => false)];
}

/** Symfony's limiter of a policy; without a lock it is exact only for sequential requests. */
function symfony(string $policy): callable
{
    return function (int $limit, int $seconds) use ($policy) {
        global $address;
        $cache = new Symfony\Component\Cache\Adapter\RedisAdapter(Symfony\Component\Cache\Adapter\RedisAdapter::createConnection("redis://$address"));
        $factory = new Symfony\Component\RateLimiter\RateLimiterFactory(
            ['id' => "p$limit", 'policy' => $policy, 'limit' => $limit]
                + ($policy === 'token_bucket' ? ['rate' => ['interval' => "$seconds seconds", 'amount' => $limit]] : ['interval' => "$seconds seconds"]),
            new Symfony\Component\RateLimiter\Storage\CacheStorage($cache));
        return [
            'take' => function (string $key) use ($factory) {
                $limit = $factory->create($key)->consume();
                return [$limit->isAccepted(), $limit->getRemainingTokens()];
            },
            'reset' => fn (string $key) => $factory->create($key)->reset(),
            'sequential' => true,
        ];
    };
}

$libraries = [
    'laravel-rate-limiter' => 'laravelRateLimiter',
    'laravel-redis-throttle' => 'laravelDuration',
    'symfony-fixed' => symfony('fixed_window'),
    'symfony-sliding' => symfony('sliding_window'),
    'symfony-token' => symfony('token_bucket'),
];

echo 'version ', trim(shell_exec('dpkg-query -W -f \'${Version}\' ' . escapeshellarg($package))), "\n";
play($libraries[$library]);
