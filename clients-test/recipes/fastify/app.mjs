import Fastify from 'fastify'
import { Redis } from 'ioredis'
import rateLimit from './limit.mjs'

const redis = new Redis(`redis://${process.env.LIMITSRV_ADDR}`, {
  commandTimeout: Number(process.env.TIMEOUT),
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
})
redis.on('error', error => console.error('limitsrv:', error.message))

const app = Fastify()
await app.register(rateLimit, { redis, limit: [3, '3/h'], open: process.env.FAIL === 'open' })
app.get('/', async () => ({ hello: 'world' }))
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' })
