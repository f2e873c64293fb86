// Express middleware that asks limitsrv by its rules, using node-redis.
//
// domain     of the rules
// attributes returns the attributes of a request, here the path, the method, the address, and
//            the API key, if any (validate it first!)
// open       whether requests are allowed while limitsrv is unavailable
// timeout    milliseconds to wait for limitsrv
export function rules(redis, domain, { attributes = describe, open = true, timeout = 100 } = {}) {
  return async (req, res, next) => {
    let answer
    try {
      answer = await within(timeout, redis.sendCommand(['RL.CHECK', domain, ...Object.entries(attributes(req)).flat(), 'HEADERS']))
    } catch {
      return open ? next() : res.status(503).json({ error: 'the rate limiter does not answer' })
    }
    const [allowed, , , waitMs, , , reason, headers] = answer
    for (let i = 0; i < headers.length; i += 2) res.set(headers[i], headers[i + 1])
    if (allowed) return next()
    res.status(429).json({ error: 'too many requests', reason, retry_after_ms: waitMs })
  }
}

const describe = req => ({
  path: req.path,
  method: req.method,
  ip: req.ip,
  ...(req.get('X-API-Key') && { api_key: req.get('X-API-Key') }),
})

const within = (ms, promise) => Promise.race([
  promise,
  new Promise((_, reject) => setTimeout(() => reject(new Error(`no answer in ${ms} ms`)), ms).unref()),
])
