import Fastify from 'fastify'
import { Limiter } from 'limitsrv'

const limiter = new Limiter({
  url: `redis://${process.env.LIMITSRV_ADDR}`,
  timeout: Number(process.env.TIMEOUT),
  fail: process.env.FAIL,
  remember: Number(process.env.REMEMBER),
})
const hourly = requests => ({ requests, per: 3600 })
const many = hourly(100_000)

const app = Fastify()
app.get('/', { onRequest: limiter.fastify({ name: 'home', perAddress: many, perKey: hourly(3) }) }, async () => ({ hello: 'world' }))
app.get('/second', { onRequest: limiter.fastify({ name: 'second', perAddress: many, perKey: hourly(3) }) }, async () => ({ hello: 'world' }))
app.get('/strict', { onRequest: limiter.fastify({ name: 'strict', perAddress: hourly(3), perKey: hourly(2) }) }, async () => ({ hello: 'world' }))
app.get('/ruled', { onRequest: limiter.fastify({ rules: 'middleware' }) }, async () => ({ hello: 'rules' }))
app.get('/own', { onRequest: limiter.fastify({ name: 'own', perAddress: many }) }, async (request, reply) => {
  reply.hijack()
  reply.raw.writeHead(201, { 'Content-Type': 'application/json' }).end('{"own": true}')
})
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' })
