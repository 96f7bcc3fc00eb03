// The load generator where there is no wrk: one run, described by a JSON object, answered by another.
import { randomUUID } from 'node:crypto'
import autocannon from 'autocannon'

const { port, spec, connections, seconds } = JSON.parse(process.argv[2])
const headers = { authorization: `Bearer ${spec.key}` }
let next = 20_000_000_000 + Math.floor(Math.random() * 60_000) * 1_000_000

const toBody = () => {
  const index = Math.floor(Math.random() * spec.count)
  const number = spec.count > 0 ? 10_000_000_000 + index : ++next
  const phone = spec.count > 0 ? `0803${String(index).padStart(7, '0')}` : '08031234567'
  return JSON.stringify({
    [spec.field]: String(number),
    phone,
    ...(spec.field === 'bvn' ? { amount: '100.00' } : {}),
  })
}

const get = { method: 'GET', path: spec.path, headers }
const post = {
  method: 'POST',
  path: spec.path,
  headers: { ...headers, 'content-type': 'application/json' },
  setupRequest: (request) => ({
    ...request,
    body: toBody(),
    headers: { ...request.headers, ...(spec.isIdempotent ? { 'idempotency-key': randomUUID() } : {}) },
  }),
}
const result = await autocannon({
  url: `http://127.0.0.1:${port}`,
  connections,
  duration: seconds,
  requests: [spec.method === 'POST' ? post : get],
})
const requests = result.requests.total
const bad = result.non2xx + result.errors + result.timeouts
console.log(JSON.stringify({ requests, perSecond: requests / result.duration, bad }))
