// The scenario of a limiter, as ../README.md describes it.

export const DAY = 86400; // seconds, so long that no limit of burst and crowd is refilled

/**
 * Prints the transcript of the limiters that factory(limit, seconds) creates. Each limiter
 * has connections of its own. It has take(key), which resolves to whether the request is
 * allowed, or to [that, remaining requests]. It may have reset(key), penalty(key, n) and
 * atOnce: 1, if the library is exact only for sequential requests.
 */
export async function play(factory) {
  const limiter = await factory(5, DAY);
  console.log("burst", ...(await inTurn(limiter, "a", 8)).map(sign));
  const other = await factory(5, DAY);
  console.log("keys", sign(await other.take("b")), sign(await other.take("a")), sign(await limiter.take("b")));
  if (limiter.reset) {
    await limiter.reset("a");
    console.log("reset", sign(await other.take("a")));
  }
  if (limiter.penalty) {
    await limiter.penalty("e", 3);
    console.log("penalty", ...(await inTurn(other, "e", 3)).map(sign));
  }
  const crowd = await factory(20, DAY);
  const taken = crowd.atOnce === 1
    ? await inTurn(crowd, "c", 50)
    : await Promise.all(Array.from({ length: 50 }, () => crowd.take("c")));
  console.log("crowd", taken.filter(isAllowed).length, "of 50");
  await refilled(await factory(3, 1));
}

/** Uses up a limiter of 3 requests per second, and waits until it is full again. */
async function refilled(limiter) {
  for (let n = 0; isAllowed(await limiter.take("d")); n++) {
    if (n === 100) {
      console.log("refill: never denied");
      return;
    }
  }
  await new Promise((resolve) => setTimeout(resolve, 2200));
  console.log("refill", ...(await inTurn(limiter, "d", 3)).map((t) => (isAllowed(t) ? "+" : "-")));
}

async function inTurn(limiter, key, times) {
  const taken = [];
  for (let n = 0; n < times; n++) taken.push(await limiter.take(key));
  return taken;
}

const isAllowed = (taken) => (Array.isArray(taken) ? taken[0] : taken);

function sign(taken) {
  if (!Array.isArray(taken)) return taken ? "+" : "-";
  return taken[0] ? `+${taken[1]}` : "-";
}
