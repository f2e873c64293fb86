// Express middleware that allows at most limit concurrent requests for each key. A lease is released
// with the response, or expires after ttl if this process dies before that.
//
// limiter of the package limitsrv
// key     returns the key of a request, by default its address
// open    whether requests are allowed while limitsrv is unavailable
export function concurrencyLimit(limiter, { name, limit, ttl = '1m', key = req => req.ip, open = true }) {
  return async (req, res, next) => {
    const lease = `${name}:${key(req)}`
    const id = crypto.randomUUID()
    res.on('close', () => limiter.command('RL.RELEASE', lease, id).catch(() => {}))
    let allowed
    try {
      [allowed] = await limiter.command('RL.ACQUIRE', lease, limit, ttl, id)
    } catch {
      return open ? next() : res.status(503).json({ error: 'the rate limiter does not answer' })
    }
    if (!allowed) return res.status(429).json({ error: 'too many concurrent requests' })
    next()
  }
}
