// Fastify plugin that asks limitsrv before a request is let through, with ioredis:
//
//   await app.register(rateLimit, { redis, limit: [100, '100/1m'] })
//
// limit  [capacity, rate] for each key, as RL.TOKEN takes them
// key    what is limited, here the API key (check it before!) or else the address
// open   whether requests pass while limitsrv can't be asked; redis says how long
//        that takes, by its option commandTimeout
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
