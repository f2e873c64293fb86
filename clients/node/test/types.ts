// The compiler reads this file: the types fit those of Express and Fastify.
import express from 'express'
import Fastify from 'fastify'
import { Limiter, type Limit } from '../index.js'

const perAddress: Limit = { requests: 100, per: 60 }
const limiter = new Limiter({ url: 'redis://127.0.0.1:6380', timeout: 50, fail: 'closed', onError: error => console.error(error.message) })

const app = express()
app.use(limiter.express({ name: 'all', perAddress }))
app.get('/', limiter.express({ name: 'one', perAddress, perKey: { ...perAddress, algorithm: 'SLIDE' }, key: request => request.get('X-Customer') }), (_, response) => { response.end() })
app.get('/rules', limiter.express({ rules: 'api', attributes: request => ({ path: request.path }) }), (_, response) => { response.end() })

const fast = Fastify()
fast.addHook('onRequest', limiter.fastify({ name: 'fast', perAddress }))
fast.get('/', { onRequest: limiter.fastify({ name: 'fast-one', perAddress, address: request => request.ip }) }, async () => ({}))

// @ts-expect-error a name is required
limiter.express({ perAddress })
// @ts-expect-error an algorithm that the library does not have
limiter.express({ name: 'leaky', perAddress: { ...perAddress, algorithm: 'LEAKY' } })
const reply: unknown = await limiter.command('RL.PEEK', 'one:ip:203.0.113.7')
limiter.close()
export { reply }
