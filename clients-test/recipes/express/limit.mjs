// Express middleware that limits requests with limitsrv, using node-redis.
//
// limit   [capacity, rate] of each key, in the form of RL.TOKEN: [10, '5'], [100, '100/1m']
// key     returns the key of a request, here the API key (validate it first!) or else the address
// open    whether requests are allowed while limitsrv is unavailable
// timeout milliseconds to wait for limitsrv
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

// Allows at most limit concurrent requests per key. A lease is released with the response,
// or expires after ttl if this process dies before that.
export function concurrencyLimit(redis, { limit, ttl = '1m', key = byKeyOrAddress, open = true, timeout = 100 }) {
  return async (req, res, next) => {
    const lease = `busy:${key(req)}`
    const id = crypto.randomUUID()
    res.on('close', () => redis.sendCommand(['RL.RELEASE', lease, id]).catch(() => {}))
    let allowed
    try {
      [allowed] = await within(timeout, redis.sendCommand(['RL.ACQUIRE', lease, String(limit), ttl, id]))
    } catch {
      return open ? next() : res.status(503).json({ error: 'the rate limiter does not answer' })
    }
    if (!allowed) return res.status(429).json({ error: 'too many concurrent requests' })
    next()
  }
}

const byKeyOrAddress = req => (req.get('X-API-Key') ? `key:${req.get('X-API-Key')}` : `ip:${req.ip}`)

const within = (ms, promise) => Promise.race([
  promise,
  new Promise((_, reject) => setTimeout(() => reject(new Error(`no answer in ${ms} ms`)), ms).unref()),
])
