<?php
declare(strict_types=1);

// The parts of a session in PHP: the addresses of the servers, the lines of output, the
// checks of replies, and the cases of single commands.

/** A reply differs from the expected one. */
final class Mismatch extends Exception
{
    public function __construct(mixed $got, mixed $want)
    {
        parent::__construct('got ' . show($got) . ', want ' . show($want));
    }
}

/** An integer from low to high. */
final class Range
{
    public function __construct(public readonly int $low, public readonly int $high)
    {
    }
}

/** A duration in milliseconds, or up to a minute less: the remainder of a time seen earlier in the case. */
function lately(int $millis): Range
{
    return new Range($millis - 60_000, $millis);
}

const HOUR = 3_600_000;

/** The first reply to RL.TOKEN with 10 10/h. */
const FRESH = [1, 10, 9, 0, 360_000];

const ARGUMENTS = "ERR wrong number of arguments for 'rl.token' command; usage: RL.TOKEN key capacity rate [n] [PARTIAL] [SHADOW] [ONCE id [FOR duration]]";

/** The reply of RL.PEEK after it. */
function peeked(): array
{
    return ['TOKEN', 10, 9, 0, lately(360_000)];
}

function show(mixed $value): string
{
    return $value instanceof Range ? "$value->low..$value->high"
        : (is_array($value) ? '[' . implode(',', array_map('show', $value)) . ']' : var_export($value, true));
}

/** An environment variable by its name without LIMITSRV_; see ../README.md. */
function given(string $name): string
{
    return (string) getenv("LIMITSRV_$name");
}

/** Returns the host and port of a server. */
function addr(string $server): array
{
    [$host, $port] = explode(':', given($server));
    return [$host, (int) $port];
}

/** Fails unless a reply matches; returns the reply. */
function want(mixed $got, mixed $want): mixed
{
    if (!matches($got, $want)) {
        throw new Mismatch($got, $want);
    }
    return $got;
}

function matches(mixed $got, mixed $want): bool
{
    if ($want instanceof Range) {
        return is_int($got) && $want->low <= $got && $got <= $want->high;
    }
    if (!is_array($want) || !is_array($got) || count($want) !== count($got)) {
        return $got === $want;
    }
    foreach ($want as $i => $item) {
        if (!matches($got[$i] ?? null, $item)) {
            return false;
        }
    }
    return true;
}

/** Fails unless an error has this text, or this code followed by any text. */
function wantError(?string $got, string $want): void
{
    $isCode = !str_contains($want, ' ') && str_starts_with((string) $got, "$want ");
    if (!$isCode && rtrim((string) $got) !== $want) {
        throw new Mismatch($got, "error $want");
    }
}

/** Fails unless these are the replies to a pipeline of 100 times RL.TOKEN with 50 50/h. */
function wantPiped(array $replies): void
{
    want(count($replies), 100);
    foreach ($replies as $i => $reply) {
        $hour = new Range(0, HOUR);
        want($reply, $i < 50 ? [1, 50, 49 - $i, 0, $hour] : [0, 50, 0, lately(72_000), $hour]);
    }
}

/** Restarts the server at RESTART_ADDR. */
function restart(): void
{
    exec(escapeshellarg(given('RESTART')), $output, $status);
    want($status, 0);
}

/** Repeats a call until it does not throw, for up to 10 s. */
function retry(callable $ask): mixed
{
    for ($end = microtime(true) + 10;; usleep(50_000)) {
        try {
            return $ask();
        } catch (RedisException $error) {
            if (microtime(true) > $end) {
                throw $error;
            }
        }
    }
}

/** Keys with arbitrary bytes. */
function binaryKeys(): array
{
    return [implode('', array_map('chr', range(0, 255))), "a\r\nb", "\0"];
}

/** Keys in different slots: CRC16 differs if only the last byte differs. */
function clusterKeys(): array
{
    return array_map(fn (int $i): string => 'cluster:' . chr(65 + $i), range(0, 31));
}

/**
 * Runs the cases and returns the exit status. The value of a case is a function that
 * throws on failure, or null if the client has no support for the case.
 */
function run(array $cases): int
{
    $status = 0;
    foreach ($cases as $name => $case) {
        if ($name === 'cluster' && given('CLUSTER_ADDR') === '') {
            continue;
        }
        if ($case === null) {
            echo "none $name\n";
            continue;
        }
        try {
            $case();
            echo "ok $name\n";
        } catch (Throwable $error) {
            $message = $error instanceof Mismatch ? $error->getMessage() : "got error '{$error->getMessage()}', want none";
            echo "FAIL $name: ", strtr($message, ["\n" => '\n', "\r" => '\r']), "\n";
            $status = 1;
        }
    }
    return $status;
}

/**
 * The cases that send single commands. $ask sends the words of a command and
 * returns its reply, null for nil and true for a status; $error returns the text of its error.
 */
function decisions(callable $ask, callable $error): array
{
    $hour = lately(HOUR);
    return [
        'decide-token' => function () use ($ask, $hour) {
            want($ask('RL.TOKEN', 'token', 10, '10/h'), FRESH);
            want($ask('RL.TOKEN', 'token', 10, '10/h', 9), [1, 10, 0, 0, $hour]);
            want($ask('RL.TOKEN', 'token', 10, '10/h'), [0, 10, 0, lately(360_000), $hour]);
            want($ask('RL.TOKEN', 'token', 10, '10/h', 11), [0, 10, 0, -1, $hour]);
        },
        'decide-leaky' => function () use ($ask, $hour) {
            want($ask('RL.LEAKY', 'leaky', 2, '2/h'), [1, 2, 1, 0, 1_800_000]);
            want($ask('RL.LEAKY', 'leaky', 2, '2/h'), [1, 2, 0, lately(1_800_000), $hour]);
            want($ask('RL.LEAKY', 'leaky', 2, '2/h'), [0, 2, 0, lately(1_800_000), $hour]);
        },
        'decide-fixed' => function () use ($ask) {
            $first = want($ask('RL.FIXED', 'fixed', 2, 'year'), [1, 2, 1, 0, new Range(1, 31_622_400_000)]);
            $left = lately($first[4]);
            $second = want($ask('RL.FIXED', 'fixed', 2, 'year', 2), [0, 2, 1, $left, $left]);
            want($second[3], $second[4]);
        },
        'decide-slide' => function () use ($ask) {
            $first = want($ask('RL.SLIDE', 'slide', 2, '365d'), [1, 2, 1, 0, new Range(1, 63_072_000_000)]);
            want($ask('RL.SLIDE', 'slide', 2, '365d', 2), [0, 2, 1, new Range(1, $first[4]), lately($first[4])]);
        },
        'decide-log' => function () use ($ask, $hour) {
            want($ask('RL.LOG', 'log', 2, '1h'), [1, 2, 1, 0, HOUR]);
            want($ask('RL.LOG', 'log', 2, '1h', 2), [0, 2, 1, $hour, $hour]);
            want($ask('RL.LOG', 'log', 2, '1h', 2, 'PARTIAL'), [1, 2, 0, 0, $hour]);
            want($ask('RL.LOG', 'log', 2, '1h', 1, 'SHADOW'), [1, 2, 0, $hour, $hour]);
        },
        'acquire-release' => function () use ($ask, $hour) {
            want($ask('RL.ACQUIRE', 'places', 1, '1h', 'a'), [1, 1, 0, 0, HOUR]);
            want($ask('RL.ACQUIRE', 'places', 1, '1h', 'b'), [0, 1, 0, $hour, $hour]);
            want($ask('RL.RELEASE', 'places', 'a'), 1);
            want($ask('RL.RELEASE', 'places', 'a'), 0);
            want($ask('RL.ACQUIRE', 'places', 1, '1h', 'b'), [1, 1, 0, 0, HOUR]);
        },
        'all' => function () use ($ask, $hour) {
            $both = ['RL.ALL', 'TOKEN', 'all:user', 10, '10/h', 1, 'LOG', 'all:ip', 1, '1h', 1];
            want($ask(...$both), [1, 1, FRESH, [1, 1, 0, 0, HOUR]]);
            want($ask(...$both), [0, 1, [1, 10, 9, 0, lately(360_000)], [0, 1, 0, $hour, $hour]]);
        },
        'peek-refund-charge' => function () use ($ask) {
            want($ask('RL.PEEK', 'peek'), null);
            want($ask('RL.REFUND', 'peek', 1), null);
            want($ask('RL.CHARGE', 'peek', 1), null);
            want($ask('RL.TOKEN', 'peek', 10, '10/h', 4), [1, 10, 6, 0, 1_440_000]);
            want($ask('RL.PEEK', 'peek'), ['TOKEN', 10, 6, 0, lately(1_440_000)]);
            want($ask('RL.REFUND', 'peek', 2), [1, 10, 8, 0, lately(720_000)]);
            want($ask('RL.CHARGE', 'peek', 10), [1, 10, 0, lately(720_000), lately(4_320_000)]);
            want($ask('RL.RESET', 'peek'), 1);
        },
        'errors' => function () use ($ask, $error) {
            wantError($error('RL.NOSUCH', 'k'), "ERR unknown command 'RL.NOSUCH', with args beginning with: 'k'");
            wantError($error('RL.TOKEN', 'k'), ARGUMENTS);
            wantError($error('RL.TOKEN', 'k', -1, 1), "ERR capacity must be a whole number from 0 to 1000000000000, got '-1'");
            want($ask('PING'), true);
        },
        'wrongtype' => function () use ($ask, $error) {
            want($ask('RL.TOKEN', 'type', 10, '10/h'), FRESH);
            wantError($error('RL.FIXED', 'type', 10, 60), 'WRONGTYPE');
        },
    ];
}
