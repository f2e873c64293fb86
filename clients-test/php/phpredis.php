<?php
declare(strict_types=1);

// The session of phpredis.

require __DIR__ . '/session.php';

/** A client with default options, except that null arrays are null, not []. */
function client(string $server): Redis
{
    $redis = new Redis();
    $redis->connect(...addr($server));
    $redis->setOption(Redis::OPT_NULL_MULTIBULK_AS_NULL, true);
    return $redis;
}

/** Takes $n tokens of a bucket of 10 with 10 per hour; the reply is false after an error. */
function take(Redis $redis, string $key, int $n = 1): mixed
{
    return $redis->rawCommand('RL.TOKEN', $key, 10, '10/h', $n);
}

/** Returns the error of the last command, which this client either stores or throws. */
function errorOf(Redis $redis, callable $send): ?string
{
    try {
        $redis->clearLastError();
        $send();
        return $redis->getLastError();
    } catch (RedisException $error) {
        return $error->getMessage();
    }
}

$redis = client('ADDR');

$cases = [
    'connect' => function () {
        $said = [];
        set_error_handler(function (int $level, string $text) use (&$said) {
            $said[] = $text;
        });
        want(client('ADDR')->ping('PONG'), 'PONG');
        want($said, []);
        restore_error_handler();
    },
] + decisions(
    fn (...$words) => $redis->rawCommand(...$words),
    fn (...$words) => errorOf($redis, fn () => $redis->rawCommand(...$words)),
) + [
    'pipeline' => function () use ($redis) {
        $pipe = $redis->pipeline();
        for ($i = 0; $i < 100; $i++) {
            $pipe->rawCommand('RL.TOKEN', 'pipeline', 50, '50/h');
        }
        wantPiped($pipe->exec());
    },
    'transaction' => function () use ($redis) {
        $replies = $redis->multi()
            ->rawCommand('RL.TOKEN', 'transaction:token', 10, '10/h', 4)
            ->rawCommand('RL.LOG', 'transaction:log', 2, '1h')
            ->exec();
        want($replies, [[1, 10, 6, 0, 1_440_000], [1, 2, 1, 0, HOUR]]);

        $redis->multi();
        wantError(errorOf($redis, fn () => $redis->rawCommand('RL.TOKEN', 'transaction:token')), ARGUMENTS);
        want($redis->exec(), []); // this client's only sign of EXECABORT, with Redis as well
    },
    'binary-keys' => function () use ($redis) {
        foreach (binaryKeys() as $key) {
            want(take($redis, $key), FRESH);
            want($redis->rawCommand('RL.PEEK', $key), peeked());
        }
        $found = [];
        $redis->setOption(Redis::OPT_SCAN, Redis::SCAN_RETRY);
        $cursor = null;
        while (($keys = $redis->scan($cursor)) !== false) {
            array_push($found, ...$keys);
        }
        want(array_diff(binaryKeys(), $found), []);
    },
    'resp2' => function () use ($redis) {
        want(array_slice($redis->rawCommand('HELLO'), 4, 2), ['proto', 2]);
        want(take($redis, 'resp2'), FRESH);
        want($redis->rawCommand('RL.PEEK', 'none'), null);
    },
    'resp3' => null,
    'reconnect' => function () {
        $redis = client('RESTART_ADDR');
        want(take($redis, 'reconnect', 4), [1, 10, 6, 0, 1_440_000]);
        restart();
        want(retry(fn () => take($redis, 'reconnect', 4)), [1, 10, 6, 0, 1_440_000]);
    },
    'wrong-password' => function () {
        $redis = client('PASSWORD_ADDR');
        wantError(errorOf($redis, fn () => $redis->auth('wrong')), 'WRONGPASS');
        $none = client('PASSWORD_ADDR');
        wantError(errorOf($none, fn () => take($none, 'password')), 'NOAUTH');
    },
    'password' => function () {
        $redis = client('PASSWORD_ADDR');
        want($redis->auth(given('PASSWORD')), true);
        want(take($redis, 'password'), FRESH);
    },
    'cluster' => function () {
        $cluster = new RedisCluster(null, [given('CLUSTER_ADDR')]);
        foreach (clusterKeys() as $key) {
            want($cluster->rawCommand($key, 'RL.TOKEN', $key, 10, '10/h'), FRESH);
            want($cluster->rawCommand($key, 'RL.PEEK', $key), peeked());
        }
    },
];

exit(run($cases));
