import express from 'express'
import { Limiter } from 'limitsrv'
import { concurrencyLimit } from './concurrency.mjs'

const limiter = new Limiter({
  url: `redis://${process.env.LIMITSRV_ADDR}`,
  timeout: Number(process.env.TIMEOUT),
  fail: process.env.FAIL,
  remember: Number(process.env.REMEMBER),
})
const hourly = requests => ({ requests, per: 3600 })
const many = hourly(100_000)

const app = express()
app.get('/', limiter.express({ name: 'home', perAddress: many, perKey: hourly(3) }), (req, res) => res.json({ hello: 'world' }))
app.get('/second', limiter.express({ name: 'second', perAddress: many, perKey: hourly(3) }), (req, res) => res.json({ hello: 'world' }))
app.get('/strict', limiter.express({ name: 'strict', perAddress: hourly(3), perKey: hourly(2) }), (req, res) => res.json({ hello: 'world' }))
app.get('/ruled', limiter.express({ rules: 'middleware' }), (req, res) => res.json({ hello: 'rules' }))
app.get('/own', limiter.express({ name: 'own', perAddress: many }), (req, res) => {
  for (const name of res.getHeaderNames()) res.removeHeader(name)
  res.writeHead(201, { 'Content-Type': 'application/json' }).end('{"own": true}')
})
app.get('/slow', concurrencyLimit(limiter, { name: 'slow', limit: 2 }), (req, res) => setTimeout(() => res.json({ done: true }), 1000))
app.listen(Number(process.env.PORT), '127.0.0.1')
