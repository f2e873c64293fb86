import assert from 'node:assert/strict'
import { test } from 'node:test'
import { digest, Limiter, network } from '../index.js'
import { Memory } from '../connection.js'
import { argumentsOf, headersOf, policy } from '../decision.js'

test('the memory of denials is bounded', () => {
  const memory = new Memory(60_000)
  for (let i = 0; i < 20_000; i++) memory.put(`k${i}`, { wait: 60_000, reset: 0 }, 0)
  assert.equal(memory.size, 10_000)
  assert.ok(memory.get('k19999', 0))
})

test('a denial is remembered until the request would pass, and not longer than asked for', () => {
  for (const [wait, longest, after, want] of [
    [10_000, 60_000, 9_999, { wait: 1, reset: 10_001 }],
    [10_000, 60_000, 10_000, undefined],
    [10_000, 5_000, 5_000, undefined],
    [-1, 5_000, 4_000, { wait: -1, reset: 16_000 }],
    [-1, 5_000, 5_000, undefined],
    [10_000, 0, 0, undefined],
  ]) {
    const memory = new Memory(longest)
    memory.put('k', { wait, reset: 20_000 }, 0)
    assert.deepEqual(memory.get('k', after), want, `wait ${wait}, longest ${longest}, after ${after}`)
  }
})

test('addresses are those of networks', () => {
  for (const [address, want] of [
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:DB8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['', ''],
  ]) assert.equal(network(address), want)
})

test('limits become arguments and policies', () => {
  assert.deepEqual(argumentsOf({ requests: 5, per: 1, burst: 10 }, 'k'), ['TOKEN', 'k', '10', '5/1000ms', '1'])
  assert.deepEqual(argumentsOf({ requests: 5, per: 3600, algorithm: 'SLIDE' }, 'k'), ['SLIDE', 'k', '5', '3600000ms', '1'])
  assert.equal(policy('n', { requests: 5, per: 1, burst: 10 }), '"n";q=10;w=2')
})

test('a wrong configuration is an error', () => {
  const limiter = new Limiter()
  const limit = { requests: 1, per: 1 }
  for (const config of [
    undefined,
    { perAddress: limit },
    { name: 'a b', perAddress: limit },
    { name: 'a' },
    { name: 'a', perAddress: { requests: 0, per: 1 } },
    { name: 'a', perAddress: { requests: 1 } },
    { name: 'a', perAddress: { ...limit, algorithm: 'LEAKY' } },
    { name: 'a', perAddress: limit, perKey: {} },
  ]) assert.throws(() => limiter.express(config), /limitsrv/)
  limiter.express({ name: 'a', perAddress: limit })
  assert.throws(() => limiter.fastify({ name: 'a', perAddress: limit }), /two limits have the name "a"/)
  assert.throws(() => new Limiter({ fail: 'maybe' }), /open/)
  for (const url of ['127.0.0.1:6380', 'localhost:6380', 'http://127.0.0.1:6380', '']) {
    assert.throws(() => new Limiter({ url }), /redis:\/\/HOST:PORT/)
  }
})

test('the headers name all limits that a request met', () => {
  const before = []
  const decision = { allowed: true, limit: 10, remaining: 3, wait: 0, reset: 1, name: '"a"', policies: '"a";q=10' }
  headersOf(decision, before)
  const headers = headersOf({ ...decision, limit: 20, remaining: 9, name: '"b"', policies: '"b";q=20' }, before)
  assert.equal(headers.get('X-RateLimit-Limit'), '10')
  assert.equal(headers.get('RateLimit'), '"a";r=3;t=1, "b";r=9;t=1')
  assert.equal(headers.get('RateLimit-Policy'), '"a";q=10, "b";q=20')
})

test('a digest hides the secret', () => assert.equal(digest('secret'), '2bb80d537b1da3e38bd30361aa855686'))
