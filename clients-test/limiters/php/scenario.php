<?php
// The scenario of a limiter, as ../README.md describes it.

const DAY = 86400; // seconds, so long that no limit of burst and crowd is refilled
const PROCESSES = 10;

/**
 * Prints the transcript of the limiters that $factory($limit, $seconds) creates. Each
 * limiter has connections of its own. It is an array of the functions take($key), which
 * returns whether the request is allowed, or [that, remaining requests], and reset($key),
 * which may be missing; and of 'sequential', if the library is exact only for sequential
 * requests.
 */
function play(callable $factory): void
{
    $limiter = $factory(5, DAY);
    echo 'burst', inTurn($limiter, 'a', 8), "\n";
    $other = $factory(5, DAY);
    echo 'keys ', sign($other['take']('b')), ' ', sign($other['take']('a')), ' ', sign($limiter['take']('b')), "\n";
    if (isset($limiter['reset'])) {
        $limiter['reset']('a');
        echo 'reset ', sign($other['take']('a')), "\n";
    }
    echo 'crowd ', crowd($factory), " of 50\n";
    refill($factory(3, 1));
}

/** Returns the number of 50 requests that are allowed; processes make them at once. */
function crowd(callable $factory): int
{
    $limiter = $factory(20, DAY);
    if (isset($limiter['sequential'])) {
        return allowed($limiter, 50);
    }
    $children = [];
    for ($n = 0; $n < PROCESSES; $n++) {
        $children[] = pcntl_fork();
        if (end($children) === 0) {
            exit(allowed($factory(20, DAY), 50 / PROCESSES));
        }
    }
    $total = 0;
    foreach ($children as $child) {
        pcntl_waitpid($child, $status);
        $total += pcntl_wexitstatus($status);
    }
    return $total;
}

function allowed(array $limiter, int $times): int
{
    $total = 0;
    for ($n = 0; $n < $times; $n++) {
        $total += isAllowed($limiter['take']('c')) ? 1 : 0;
    }
    return $total;
}

/** Uses up a limiter of 3 requests per second, and waits until it is full again. */
function refill(array $limiter): void
{
    for ($n = 0; isAllowed($limiter['take']('d')); $n++) {
        if ($n === 100) {
            echo "refill: never denied\n";
            return;
        }
    }
    usleep(2200000);
    echo 'refill';
    for ($n = 0; $n < 3; $n++) {
        echo isAllowed($limiter['take']('d')) ? ' +' : ' -';
    }
    echo "\n";
}

function inTurn(array $limiter, string $key, int $times): string
{
    $line = '';
    for ($n = 0; $n < $times; $n++) {
        $line .= ' ' . sign($limiter['take']($key));
    }
    return $line;
}

function isAllowed($taken): bool
{
    return is_array($taken) ? $taken[0] : $taken;
}

function sign($taken): string
{
    if (!isAllowed($taken)) {
        return '-';
    }
    return is_array($taken) ? "+$taken[1]" : '+';
}
