import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { REFUSED_TEXTS } from '../../../src/simulator/faults.ts'
import { IDENTITY_VENDORS } from '../../../src/simulator/vendors.ts'
import { type HttpReply, type HttpRequest, SourceError } from '../../../src/sources/source.ts'
import { checkVendorFile } from '../../../src/sources/vendor-file/check.ts'
import { createFileSource } from '../../../src/sources/vendor-file/create-source.ts'
import { OUTCOMES, type VendorFile } from '../../../src/sources/vendor-file/schema.ts'
import { SHIPPED_VENDORS } from '../../../src/sources/vendors.ts'

/** `npm run fuzz` tries many more, with coverage as its guide. */
const RUNS = 2500
const NUMBER = '12345678901'
const CORE = '8035678901'
const PERSON = { first_name: 'Zibbledorf', last_name: 'Quonxately', date_of_birth: '1990-01-05' }
const SECRETS = [NUMBER, CORE, 'Zibbledorf', 'Quonxately', 'hunter2hunter2']

const FILES = [...SHIPPED_VENDORS.values()].flatMap(({ loaded }) => (loaded ? [loaded.file] : []))

/** Values that may stand anywhere in a file. */
const piece = fc.oneof(
  fc.constantFrom<unknown>(
    ...OUTCOMES,
    '{number}',
    '{secret}',
    'data',
    'data.status',
    '$.x',
    '',
    0,
    200,
    404,
    true,
    null,
    [],
    {},
  ),
  fc.constantFrom<unknown>(
    ['data'],
    [200],
    [404],
    { at: 'x', is: ['y'] },
    { says: ['no_such_person'] },
    '__proto__',
    '{not_found}',
  ),
  fc.string({ maxLength: 8 }),
)
/** Where a file is changed, by the count of its members, and how. */
const edits = fc.array(fc.tuple(fc.nat(200), fc.option(piece, { nil: undefined })), { maxLength: 4 })

/** Undefined removes the member. */
function edit(value: unknown, changes: ReadonlyMap<number, unknown>, count = { members: 0 }): unknown {
  if (Array.isArray(value)) return value.map((item) => edit(item, changes, count))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      const place = count.members++
      if (!changes.has(place)) return [[name, edit(inner, changes, count)]]
      const changed = changes.get(place)
      return changed === undefined ? [] : [[name, changed]]
    }),
  )
}

const randomFile = fc
  .tuple(fc.constantFrom(...FILES), edits)
  .map(([file, changes]) => edit(file, new Map(changes)))

/** What web servers, frameworks and proxies answer. None of it is about a person. */
const errorPage = fc
  .tuple(
    fc.constantFrom(200, 400, 401, 403, 404, 405, 422, 429, 500, 502, 503),
    fc.constantFrom(...REFUSED_TEXTS),
    fc.nat(7),
  )
  .map(([status, text, form]): HttpReply => {
    const bodies = [
      undefined,
      {},
      [],
      null,
      { error: text },
      { message: text, statusCode: status },
      { detail: text },
      { status, error: text, path: '/' },
    ]
    return { status, body: bodies[form] }
  })

const randomReply = fc
  .tuple(fc.constantFrom(200, 201, 400, 404, 500), fc.jsonValue({ maxDepth: 3 }))
  .map(([status, body]): HttpReply => ({ status, body }))

const settingsOf = ({ settings = {} }: VendorFile) =>
  Object.fromEntries(
    Object.entries(settings).map(([name, { type, secret, default: value = 'x' }]) => [
      name,
      type === 'pattern' ? /not match/i : type === 'switch' ? 'on' : secret ? 'hunter2hunter2' : value,
    ]),
  )

/** What a file makes of a reply. The vendor repeats the person in every error. */
async function ask(file: VendorFile, reply: (request: HttpRequest) => HttpReply): Promise<unknown> {
  const send = async (request: HttpRequest) => reply(request)
  const source = createFileSource('random', file, settingsOf(file), { send })
  const call = { signal: new AbortController().signal, reference: 'ver_test' }
  const find = file.operations.nin
    ? () => source.findNin?.({ nin: NUMBER, phone: CORE, details: PERSON }, call)
    : () => source.findBvn?.({ bvn: NUMBER, phone: CORE, details: PERSON }, call)
  try {
    return await find()
  } catch (error) {
    return error
  }
}

/** A file is invalid, or what comes out is an answer or a SourceError; an error never contains anything of the person. */
it('random files and answers end as an answer or a failure, and no failure contains personal data', async () => {
  let valid = 0
  await fc.assert(
    fc.asyncProperty(randomFile, fc.oneof(randomReply, errorPage), async (content, reply) => {
      await nextTurn()
      const { file, problems } = checkVendorFile(content) as {
        file?: VendorFile
        problems?: readonly string[]
      }
      if (!file) {
        expect(problems?.length).toBeGreaterThan(0)
        return
      }
      valid += 1
      const told = { ...reply, body: reply.body ?? { error: `${NUMBER} ${CORE} Zibbledorf` } }
      const result = await ask(file, () => told)
      if (!(result instanceof Error)) return
      expect(result).toBeInstanceOf(SourceError)
      const text = `${result.message} ${result.stack} ${JSON.stringify(result)}`
      for (const secret of SECRETS) expect(text).not.toContain(secret)
    }),
    { numRuns: RUNS },
  )
  expect(valid).toBeGreaterThan(RUNS / 10)
}, 300_000)

it('an error page never means "not verified", whatever valid file reads it', async () => {
  await fc.assert(
    fc.asyncProperty(randomFile, errorPage, async (content, reply) => {
      await nextTurn()
      const { file } = checkVendorFile(content) as { file?: VendorFile }
      // The texts of a file are the operator's own words for it.
      if (
        !file ||
        Object.values(file.texts ?? {})
          .flat()
          .some((text) => REFUSED_TEXTS.includes(text))
      )
        return
      const result = await ask(file, () => reply)
      if (!(result instanceof Error)) expect(result).not.toMatchObject({ found: false })
    }),
    { numRuns: RUNS },
  )
}, 300_000)

it('an answer about the person is never "not verified", however it is damaged', async () => {
  const scripts = IDENTITY_VENDORS.filter(({ name }) => SHIPPED_VENDORS.get(name)?.loaded)
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...scripts), edits, async (script, changes) => {
      await nextTurn()
      const file = SHIPPED_VENDORS.get(script.name)?.loaded?.file as VendorFile
      const result = await ask(file, ({ method, path, query, headers = {}, body }) => {
        const lower = Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
        )
        const answer = script.answer(
          { method, path, query: new URLSearchParams(query), headers: lower, body },
          undefined,
        )
        return path === script.tokenPath ? answer : { ...answer, body: edit(answer.body, new Map(changes)) }
      })
      if (!(result instanceof Error)) expect(result).not.toMatchObject({ found: false })
    }),
    { numRuns: 2000 },
  )
}, 300_000)
