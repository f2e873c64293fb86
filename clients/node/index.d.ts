import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RedisClientOptions } from 'redis'

/** A number of requests in a time, for each address or key. */
export interface Limit {
  /** Requests, from 1 on. */
  requests: number
  /** Seconds, from 0.001 on. */
  per: number
  /** The capacity of the bucket of TOKEN, by default requests. */
  burst?: number
  /** TOKEN by default; the others count in windows of per. */
  algorithm?: 'TOKEN' | 'FIXED' | 'SLIDE' | 'LOG'
}

/** A request takes one token from the limit of its address and, if it has a key, from the limit of the key: all or none. */
export interface NamedLimits<Request> {
  /** A part of all keys: limits with different names share nothing. */
  name: string
  perAddress: Limit
  perKey?: Limit
  /** The key of a request, such as the id of a customer; by default a digest of the header X-API-Key. */
  key?: (request: Request) => string | undefined | null
  /** By default request.ip, which heeds the framework's setting for trusted proxies. */
  address?: (request: Request) => string
}

/** The rules of a domain on the server decide. */
export interface Rules<Request> {
  rules: string
  /** By default path, method, ip, and api_key, a digest of the header X-API-Key if there is one. */
  attributes?: (request: Request) => Record<string, string | number>
}

export type Config<Request> = NamedLimits<Request> | Rules<Request>

/** Besides these, the options of a client of the package redis: url, username, password, socket, ... */
export interface Options extends Omit<RedisClientOptions, 'disableOfflineQueue'> {
  /** Milliseconds that a request waits for limitsrv at most, connecting included: 100 by default. */
  timeout?: number
  /** While limitsrv is unavailable requests pass (open, the default), or get 503 (closed). */
  fail?: 'open' | 'closed'
  /** Milliseconds for which a denial is answered without asking again, at most until the request would pass: 10 000 by default, 0 for none. */
  remember?: number
  /** Gets errors of limitsrv, at most one in 10 s. By default console.warn shows them. */
  onError?: (error: Error) => void
}

interface ExpressRequest extends IncomingMessage {
  ip?: string
  path: string
  get(name: string): string | undefined
}

interface ExpressResponse extends ServerResponse {
  status(code: number): { json(body: unknown): unknown }
}

interface FastifyRequest {
  ip: string
  url: string
  method: string
  headers: Record<string, string | string[] | undefined>
}

interface FastifyReply {
  raw: ServerResponse
  code(status: number): { send(body: unknown): unknown }
}

/** Asks one limitsrv server. It connects at the first request, and again by itself. An application needs one. */
export class Limiter {
  constructor(options?: Options)
  /** A middleware for Express. */
  express<Request extends ExpressRequest = ExpressRequest>(config: Config<Request>): (request: Request, response: ExpressResponse, next: () => void) => Promise<void>
  /** A hook for onRequest of Fastify. */
  fastify(config: Config<FastifyRequest>): (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
  /** Sends any command within the timeout. */
  command(...parts: (string | number)[]): Promise<unknown>
  /** Ends the connection. */
  close(): void
}

/** The first 32 hexadecimal digits of the SHA-256 of a secret, '' for ''. */
export function digest(secret: string): string

/** An IPv4 address, or the /64 network of an IPv6 address. */
export function network(address: string): string
