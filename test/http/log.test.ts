import { mkdtempSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { createApiServer } from '../../src/server/api-server.ts'
import { createContext } from '../../src/server/create-context.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { inject } from '../inject.ts'

const CANARIES = {
  nin: '73519284650',
  bvn: '64820193755',
  phone: '8147730921',
  name: 'Zzyzxcanary',
  key: 'tbt_test_canary00AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA000000',
}

/** Every way in which a value could be written down. */
const spellings = (value: string) => [
  value,
  Buffer.from(value).toString('hex'),
  Buffer.from(value).toString('base64').replace(/=+$/, '').slice(0, -1),
  encodeURIComponent(value),
]

it('writes one line a request, with allowed fields only, and nothing of what a caller sent', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-log-'))
  const path = join(folder, 'log')
  const log = createLog('trace', openSync(path, 'w'))
  const context = await createContext(loadConfig({ TABBAT_DATA_DIR: folder }, ''), log)
  const app = createApiServer(context)
  app.route({
    methods: ['GET'],
    path: '/boom',
    operation: 'boom',
    answer: () => {
      throw new Error(`cannot handle ${CANARIES.nin} of ${CANARIES.name}`, {
        cause: new TypeError(CANARIES.phone),
      })
    },
  })
  const { nin, bvn, phone, name, key } = CANARIES
  const good = { authorization: `Bearer ${SANDBOX_KEY}` }
  const post = (url: string, headers: Record<string, string>, payload: string | object) =>
    inject(app, { method: 'POST', url, headers, payload })
  const answers = [
    await post('/api/v2/kyc/verify-nin', { ...good, 'x-request-id': nin }, { nin, phone: `0${phone}`, name }),
    await post(
      '/api/v2/kyc/verify-bvn',
      { ...good, 'user-agent': name },
      { bvn, phone: `+234${phone}`, amount: '1' },
    ),
    await post('/api/v2/kyc/verify-nin', good, { nin: `${nin}${nin}`, phone: name }),
    await post('/api/v2/kyc/verify-nin', good, `{"nin":"${nin}","phone":"${phone}"`),
    await post('/api/v2/kyc/verify-nin', { authorization: key }, { nin, phone }),
    await post(`/api/v2/kyc/verify-nin/${nin}?phone=${phone}`, good, {}),
    await post('/api/v2/kyc/verify-nin', { ...good, 'x-request-id': name }, { nin, phone: `0${phone}` }),
    await post(
      '/api/v2/kyc/verify-nin',
      { ...good, 'x-request-id': '0814-773-0921' },
      { nin, phone: `0${phone}` },
    ),
    await post(
      '/api/v2/kyc/verify-nin',
      { ...good, 'x-request-id': SANDBOX_KEY },
      { nin, phone: `0${phone}` },
    ),
    await inject(app, {
      method: 'GET',
      url: `/boom?nin=${nin}`,
      headers: { 'x-request-id': `order-${nin}` },
    }),
  ]
  const metrics = await context.metrics.print()
  await app.close()
  await context.close()
  log.flush()
  const text = readFileSync(path, 'utf8')
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  const requests = lines.filter(({ event }) => event === 'request')
  expect(requests).toHaveLength(answers.length)
  const allowed = [
    'level',
    'time',
    'event',
    'request_id',
    'operation',
    'mode',
    'key_id',
    'status',
    'outcome',
    'duration_ms',
  ]
  for (const line of requests) expect(Object.keys(line)).toEqual(allowed)
  expect(requests.map(({ status }) => status)).toEqual([200, 200, 422, 400, 401, 404, 200, 200, 200, 500])
  expect(lines.find(({ event }) => event === 'failure')).toMatchObject({
    error: 'Error',
    cause: { error: 'TypeError' },
  })

  const errors = answers.filter(({ statusCode }) => statusCode >= 400)
  const seen =
    text +
    metrics +
    errors
      .map(({ body }) => body)
      .join('')
      .replaceAll(`order-${nin}`, '')
  for (const canary of [...Object.values(CANARIES), SANDBOX_KEY, '0814-773-0921'])
    for (const spelling of spellings(canary)) expect(seen.includes(spelling), `leaked: ${canary}`).toBe(false)
  expect(answers.at(-1)?.json()).toMatchObject({
    code: 'internal_error',
    message: 'Something went wrong on our side.',
  })
})
