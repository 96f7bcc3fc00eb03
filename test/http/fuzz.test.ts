import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { OPERATIONS } from '../../src/operations/operations.ts'
import { openTestApp, type TestApp } from '../app.ts'

const REQUESTS = 7000

type Responses = Record<string, { content: { 'application/json': { schema: { $ref: string } } } }>
const openApi = JSON.parse(readFileSync('openapi.json', 'utf8')) as {
  paths: Record<string, Record<string, { responses: Responses }>>
}
const ajv = new Ajv({ strict: false, allowUnionTypes: true, schemas: { openapi: openApi } })
const schemaAt = (ref: string) => ajv.getSchema(`openapi${ref}`) ?? ajv.compile({ $ref: `openapi${ref}` })
const isError = schemaAt('#/components/schemas/Error')

let server: TestApp

beforeAll(async () => {
  server = await openTestApp({ TABBAT_RATE_LIMIT: 'off' })
})
afterAll(() => server.close())

const digits = fc.constantFrom(
  '0',
  '1',
  '7',
  '8',
  '9',
  '٣',
  '３',
  '०',
  ' ',
  '\u0000',
  '+',
  '-',
  '(',
  '.',
  'e',
)
const numberish = fc.oneof(
  fc.stringMatching(/^[0-9]{11}$/),
  fc.array(digits, { minLength: 9, maxLength: 14 }).map((parts) => parts.join('')),
  fc.constantFrom('12345678901', '00000000001', '00000000422', ' 12345678901 ', '12345678901\n'),
  fc.string({ unit: 'binary' }),
)
const phone = fc.oneof(
  fc.stringMatching(/^(\+234|0|234|00234)?[789][01][0-9]{8}$/),
  fc.array(digits, { minLength: 9, maxLength: 18 }).map((parts) => parts.join('')),
  fc.constantFrom('08031234567', '08000000000'),
)
const value = fc.oneof(
  { weight: 4, arbitrary: numberish },
  { weight: 3, arbitrary: phone },
  fc.jsonValue({ maxDepth: 2 }),
)
const nearlyValid = fc.record(
  {
    nin: value,
    bvn: value,
    phone: fc.oneof(phone, value),
    amount: value,
    type: fc.constantFrom('DSTV', 'dstv', 'x', 5),
    productCode: value,
    ['__proto__']: value,
  },
  { requiredKeys: [] },
)
const raw = fc.constantFrom(
  '',
  '{',
  '[[',
  '['.repeat(8000) + ']'.repeat(8000),
  `${'{"a":'.repeat(3000)}1${'}'.repeat(3000)}`,
  '{"nin":"12345678901","nin":5,"phone":"08031234567"}',
  '{"__proto__":{"nin":"12345678901","phone":"08031234567"}}',
  '{"constructor":{"prototype":{"phone":"1"}}}',
  '\u0000',
  '\uFEFF{}',
  '"\\ud800"',
  '1e999',
  'null',
  'true',
  '"text"',
)
const body = fc.oneof(
  { weight: 6, arbitrary: nearlyValid.map((input) => JSON.stringify(input)) },
  { weight: 2, arbitrary: fc.json() },
  { weight: 2, arbitrary: raw },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)) },
)
const contentType = fc.constantFrom(
  undefined,
  'application/json',
  'application/json',
  'application/json; charset=utf-8',
  'APPLICATION/JSON',
  'text/plain',
  'multipart/form-data; boundary=x',
  ';;;',
  'application/json;',
)
const authorization = fc.constantFrom(
  `Bearer ${SANDBOX_KEY}`,
  `Bearer ${SANDBOX_KEY}`,
  `Bearer ${SANDBOX_KEY}`,
  SANDBOX_KEY,
  undefined,
  'Bearer x',
  `bearer  ${SANDBOX_KEY}`,
)
const method = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('GET', 'POST', 'QUERY') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH'),
  },
)
const segment = fc.constantFrom(
  'smile',
  'Spectranet',
  'nobody',
  '%00',
  '%E0%A4%A',
  '..',
  '__proto__',
  '%2F',
  'x'.repeat(300),
)
const path = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom(...OPERATIONS), segment)
      .map(([{ path }, name]) => path.replace(':provider', name)),
  },
  { weight: 1, arbitrary: fc.webPath() },
)
const query = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  fc
    .record({
      type: fc.constantFrom('DSTV', 'gotv', 'x', ''),
      productCode: fc.constantFrom('COMPE36', 'gotvmax', '', '%'),
    })
    .map((input) => `?${new URLSearchParams(input)}`),
  fc.webQueryParameters().map((text) => `?${text}`),
)

/** The schema that the committed description gives for this answer; errors of no operation share one. */
function schemaFor(url: string, asked: string, status: number): string | undefined {
  const pathname = url.split('?', 1)[0] ?? ''
  const found = Object.entries(openApi.paths).find(([pattern]) =>
    new RegExp(`^${pattern.replace(/\{[a-z]+\}/, '[^/]+')}$`).test(pathname),
  )
  const verb = asked === 'QUERY' ? 'get' : asked.toLowerCase()
  return found?.[1][verb]?.responses[status]?.content['application/json'].schema.$ref
}

it(`answers ${REQUESTS} random requests as openapi.json says`, { timeout: 900_000 }, async () => {
  const statuses = new Map<number, number>()
  const request = fc.record({ method, path, query, contentType, authorization, body })
  await fc.assert(
    fc.asyncProperty(request, async ({ method, path, query, contentType, authorization, body }) => {
      const url = path + query
      const answer = await server.app.inject({
        method: method as 'GET',
        url: url.startsWith('/') ? url : `/${url}`,
        headers: {
          ...(contentType && { 'content-type': contentType }),
          ...(authorization && { authorization }),
        },
        payload: body,
      })
      statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1)
      expect(answer.headers['x-request-id']).toBeTruthy()
      expect(answer.statusCode).toBeLessThan(500)
      if (method === 'HEAD' || answer.statusCode === 304) return
      const ref = schemaFor(url, method, answer.statusCode)
      const isValid = ref ? schemaAt(ref) : isError
      expect(isValid(answer.json()), `${answer.statusCode} ${answer.body}`).toBe(true)
      if (answer.statusCode === 404 || answer.statusCode === 405) return
      expect(ref, `${method} ${path} answered an undocumented ${answer.statusCode}`).toBeDefined()
    }),
    { numRuns: REQUESTS, seed: 20261115 },
  )
  // The odd requests reach deep enough to be worth something.
  for (const status of [200, 400, 401, 404, 405, 415, 422])
    expect(statuses.get(status) ?? 0, `${status}`).toBeGreaterThan(50)
})
