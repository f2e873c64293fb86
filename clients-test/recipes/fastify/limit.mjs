// Fastify plugin that limits requests with limitsrv, using ioredis:
//
//   await app.register(rateLimit, { redis, limit: [100, '100/1m'] })
//
// limit  [capacity, rate] of each key, in the form of RL.TOKEN
// key    returns the key of a request, here the API key (validate it first!) or else the address
// open   whether requests are allowed while limitsrv is unavailable; the timeout is
//        the option commandTimeout of redis
import plugin from 'fastify-plugin'

export default plugin(async (app, { redis, limit: [capacity, rate], key = byKeyOrAddress, open = true }) => {
  app.addHook('onRequest', async (request, reply) => {
    let decision
    try {
      decision = await redis.call('RL.TOKEN', key(request), capacity, rate)
    } catch {
      if (open) return
      return reply.code(503).send({ error: 'the rate limiter does not answer' })
    }
    const [allowed, limit, remaining, waitMs, resetMs] = decision
    reply.headers({
      'X-RateLimit-Limit': limit,
      'X-RateLimit-Remaining': remaining,
      'X-RateLimit-Reset': Math.ceil(resetMs / 1000),
    })
    if (allowed) return
    reply.header('Retry-After', Math.ceil(waitMs / 1000))
    return reply.code(429).send({ error: 'too many requests', retry_after_ms: waitMs })
  })
})

const byKeyOrAddress = ({ headers, ip }) => (headers['x-api-key'] ? `key:${headers['x-api-key']}` : `ip:${ip}`)
