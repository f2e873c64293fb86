// Express middleware that asks limitsrv before a request is let through, with node-redis.
//
// limit   [capacity, rate] for each key, as RL.TOKEN takes them: [10, '5'], [100, '100/1m']
// key     what is limited, here the API key (check it before!) or else the address
// open    whether requests pass while limitsrv can't be asked
// timeout milliseconds after which it can't
export function rateLimit(redis, { limit: [capacity, rate], key = byKeyOrAddress, open = true, timeout = 100 }) {
  return async (req, res, next) => {
    let decision
    try {
      decision = await within(timeout, redis.sendCommand(['RL.TOKEN', key(req), String(capacity), rate]))
    } catch {
      return open ? next() : res.status(503).json({ error: 'the rate limiter does not answer' })
    }
    const [allowed, limit, remaining, waitMs, resetMs] = decision
    res.set({
      'X-RateLimit-Limit': String(limit),
      'X-RateLimit-Remaining': String(remaining),
      'X-RateLimit-Reset': String(Math.ceil(resetMs / 1000)),
    })
    if (allowed) return next()
    res.set('Retry-After', String(Math.ceil(waitMs / 1000)))
    res.status(429).json({ error: 'too many requests', retry_after_ms: waitMs })
  }
}

// At most limit requests of a key at once. A place is given back with the response,
// or after ttl if this process dies before that.
export function concurrencyLimit(redis, { limit, ttl = '1m', key = byKeyOrAddress, open = true, timeout = 100 }) {
  return async (req, res, next) => {
    const place = `busy:${key(req)}`
    const id = crypto.randomUUID()
    res.on('close', () => redis.sendCommand(['RL.RELEASE', place, id]).catch(() => {}))
    let allowed
    try {
      [allowed] = await within(timeout, redis.sendCommand(['RL.ACQUIRE', place, String(limit), ttl, id]))
    } catch {
      return open ? next() : res.status(503).json({ error: 'the rate limiter does not answer' })
    }
    if (!allowed) return res.status(429).json({ error: 'too many requests at once' })
    next()
  }
}

const byKeyOrAddress = req => (req.get('X-API-Key') ? `key:${req.get('X-API-Key')}` : `ip:${req.ip}`)

const within = (ms, promise) => Promise.race([
  promise,
  new Promise((_, reject) => setTimeout(() => reject(new Error(`no answer in ${ms} ms`)), ms).unref()),
])
