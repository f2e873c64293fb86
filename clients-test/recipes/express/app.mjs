import express from 'express'
import { createClient } from 'redis'
import { concurrencyLimit, rateLimit } from './limit.mjs'
import { rules } from './rules.mjs'

const redis = createClient({ url: `redis://${process.env.LIMITSRV_ADDR}`, disableOfflineQueue: true })
redis.on('error', error => console.error('limitsrv:', error.message))
redis.connect().catch(() => {}) // it retries by itself

const open = process.env.FAIL === 'open'
const timeout = Number(process.env.TIMEOUT)
const app = express()
app.get('/', rateLimit(redis, { limit: [3, '3/h'], open, timeout }), (req, res) => res.json({ hello: 'world' }))
app.get('/slow', concurrencyLimit(redis, { limit: 2, open, timeout }), (req, res) => setTimeout(() => res.json({ done: true }), 1000))
app.get('/ruled', rules(redis, 'recipes', { open, timeout }), (req, res) => res.json({ hello: 'rules' }))
app.listen(Number(process.env.PORT), '127.0.0.1')
