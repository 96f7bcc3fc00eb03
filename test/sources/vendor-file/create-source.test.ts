import { describe, expect, it, vi } from 'vitest'
import type { HttpReply, HttpRequest } from '../../../src/sources/source.ts'
import {
  compileOperation,
  createFileSource,
  listNeeds,
} from '../../../src/sources/vendor-file/create-source.ts'
import type { Condition, VendorFile, VendorRule } from '../../../src/sources/vendor-file/schema.ts'

const toRule = (name: string, condition: Condition, then: VendorRule['then']): VendorRule => ({
  name,
  if: condition,
  then,
})
const request = (path: string) => ({ request: { method: 'POST' as const, path, body: { id: '{number}' } } })
const ANSWER = {
  rules: 'all',
  record: ['data'],
  number: { at: ['id'] },
  phones: ['tel'],
  reference: '$.ref',
  fields: { personal_info: { first_name: 'first' } },
}
const FILE = {
  title: 'Acme',
  documentation: { url: 'https://docs.acme.example', read: '2026-11-05' },
  operations: { nin: request('/nin'), virtual_nin: request('/vnin'), bvn: request('/bvn') },
  answers: { nin: ANSWER, bvn: { ...ANSWER, fields: {} } },
  rules: {
    all: [
      toRule('nobody', { values: [{ at: 'code', is: ['44'] }] }, 'not_found'),
      toRule('listed', { values: [{ at: 'code', is: ['45'] }] }, 'watch_listed'),
      toRule('names', { values: [{ at: 'code', is: ['46'] }] }, 'names_differ'),
      toRule('said', { text: { says: ['no_such_person'] } }, 'not_found'),
      toRule('person', { present: ['data'] }, 'found'),
      toRule('broke', { values: [{ at: 'code', is: ['50'] }] }, 'no_funds'),
    ],
  },
} as unknown as VendorFile
const RECORD = { id: '12345678901', tel: '08031234567', first: 'Ada' }
const CALL = { signal: new AbortController().signal, reference: 'ver_1' }
const VIRTUAL = 'AB012345678910YZ'

function open(reply: HttpReply | ((request: HttpRequest) => HttpReply), file = FILE) {
  const sent: HttpRequest[] = []
  const send = async (asked: HttpRequest) => {
    sent.push(asked)
    return typeof reply === 'function' ? reply(asked) : reply
  }
  return { sent, ...createFileSource('acme', file, { key: 'secret' }, { send }) }
}
const ask = (reply: HttpReply) => open(reply).findNin?.({ nin: '12345678901', phone: '8031234567' }, CALL)
const body = (value: object, status = 200) => ({ status, body: { ref: 'r-1', ...value } })

describe('a vendor of a file', () => {
  it('is asked for a NIN, a virtual NIN and a BVN, each by its own request', async () => {
    const source = open(body({ data: RECORD }))
    await source.findNin?.({ nin: '12345678901', phone: '8031234567' }, CALL)
    await source.findNin?.({ nin: VIRTUAL, phone: '8031234567' }, CALL)
    await source.findBvn?.({ bvn: '12345678901', phone: '8031234567' }, CALL)
    expect(source.sent.map(({ path, body }) => [path, body])).toEqual([
      ['/nin', { id: '12345678901' }],
      ['/vnin', { id: VIRTUAL }],
      ['/bvn', { id: '12345678901' }],
    ])
    expect(source).toMatchObject({ name: 'acme', isExternal: true, acceptsVirtualNin: true })
  })

  it('sends another {call_id} with each call, and the same one everywhere in a call', async () => {
    const asked = { number: '{number}', job: '{call_id}', ref: '{reference}' }
    const nin = {
      request: { method: 'POST' as const, path: '/nin', headers: { 'x-call': '{call_id}' }, body: asked },
    }
    const source = open(body({ data: RECORD }), { ...FILE, operations: { nin } } as VendorFile)
    for (let calls = 0; calls < 20; calls++)
      await source.findNin?.({ nin: '12345678901', phone: '8031234567' }, CALL)
    const sent = source.sent.map(({ headers, body }) => ({
      header: headers?.['x-call'],
      ...(body as { readonly job: string; readonly ref: string }),
    }))
    for (const { header, job, ref } of sent) {
      expect(job).toMatch(/^[0-9a-f]{32}$/)
      expect([header, ref]).toEqual([job, 'ver_1'])
    }
    expect(new Set(sent.map(({ job }) => job)).size).toBe(20)
  })

  it('has no answer when it says "no such person" beside the person', async () => {
    const other = { ...RECORD, tel: '08039999999' }
    await expect(ask(body({ code: '44', data: RECORD }))).rejects.toMatchObject({
      reason: 'bad_response',
      problem: 'contradictory',
    })
    for (const data of [other, { ...RECORD, id: '12345678902' }, { ...RECORD, first: '' }, null])
      expect(await ask(body({ code: '44', data }))).toEqual({ found: false, reference: 'r-1' })
    // An error that repeats what was asked, the names that the caller sent included.
    const echo = { ...ANSWER, fields: { personal_info: { first_name: { asked: 'first_name' } } } }
    const { findNin } = open(body({ code: '44', data: RECORD }), {
      ...FILE,
      answers: { ...FILE.answers, nin: echo },
    } as unknown as VendorFile)
    const person = { nin: '12345678901', phone: '8031234567', details: { first_name: 'Ada' } }
    expect(await findNin?.(person as never, CALL)).toMatchObject({ found: false })
  })

  it('has only the operations of the file', async () => {
    const { nin, bvn } = FILE.operations
    const ofNin = open(body({ data: RECORD }), { ...FILE, operations: { nin } } as VendorFile)
    expect(ofNin).not.toHaveProperty('findBvn')
    expect(ofNin).not.toHaveProperty('acceptsVirtualNin')
    await ofNin.findNin?.({ nin: VIRTUAL, phone: '8031234567' }, CALL)
    expect(ofNin.sent.map(({ path }) => path)).toEqual(['/nin'])
    expect(open(body({}), { ...FILE, operations: { bvn } } as VendorFile)).not.toHaveProperty('findNin')
    expect(() => compileOperation('acme', { ...FILE, operations: { nin } } as VendorFile, {}, 'bvn')).toThrow(
      'acme has no operation bvn',
    )
    expect(() => compileOperation('acme', { ...FILE, answers: {} } as VendorFile, {}, 'nin')).toThrow(
      'no operation',
    )
  })

  it('tells which rule decided', async () => {
    const rules: (string | undefined)[] = []
    const onRule = (rule: { readonly name: string } | undefined) => void rules.push(rule?.name)
    for (const reply of [body({ data: RECORD }), body({ code: '44' }), body({}, 500)])
      await open(reply)
        .findNin?.({ nin: '12345678901', phone: '8031234567' }, { ...CALL, onRule } as never)
        .catch(() => {})
    expect(rules).toEqual(['person', 'nobody', undefined])
  })
})

describe('a reply', () => {
  it('is a record, or that there is none, with the reference of the vendor', async () => {
    expect(await ask(body({ data: RECORD }))).toMatchObject({ found: true, reference: 'r-1' })
    expect(await ask(body({ code: '44' }))).toEqual({ found: false, reference: 'r-1' })
    expect(await ask(body({ code: '45' }))).toEqual({ found: false, reference: 'r-1', watchlisted: true })
    expect(await ask(body({ code: '46' }))).toEqual({ found: false, reference: 'r-1', namesDiffer: true })
    expect(await ask({ status: 200, body: { code: '44' } })).toEqual({ found: false })
    expect(await ask(body({ message: 'NIN not found' }, 404))).toEqual({ found: false, reference: 'r-1' })
  })

  it('without a record has no reference that would be in it', async () => {
    const answers = { ...FILE.answers, nin: { ...ANSWER, reference: 'ref' } }
    const source = open(body({ code: '44' }), { ...FILE, answers } as VendorFile)
    expect(await source.findNin?.({ nin: '12345678901', phone: '8031234567' }, CALL)).toEqual({
      found: false,
    })
  })

  it.each([
    [body({ code: '50' }), 'refused', 'funds'],
    [body({}, 503), 'unreachable', 'vendor_failed'],
    // A code is not believed beside a status or a text that is about the account or the vendor.
    [body({ code: '44' }, 401), 'refused', 'credentials'],
    [body({ code: '44' }, 402), 'refused', 'funds'],
    [body({ code: '44' }, 403), 'refused', 'credentials'],
    [body({ code: '45' }, 408), 'timeout', 'too_slow'],
    [body({ code: '46' }, 429), 'throttled', 'too_many'],
    [body({ code: '44' }, 500), 'unreachable', 'vendor_failed'],
    [body({ code: '44', message: 'Insufficient balance' }), 'refused', 'funds'],
    [body({ code: '44', message: 'Sorry', detail: 'Try again later' }), 'unreachable', 'vendor_down'],
    [body({ code: '44', error: 'Invalid API key' }, 404), 'refused', 'credentials'],
  ])('%j is a failure: %s, %s', async (reply, reason, problem) => {
    await expect(ask(reply)).rejects.toMatchObject({ name: 'SourceError', source: 'acme', reason, problem })
  })

  it.each([
    body({ code: '44' }, 400),
    body({ code: '44' }, 404),
    body({ code: '44', message: 'Sorry' }, 499),
  ])('%j is believed', async (reply) => expect(await ask(reply)).toMatchObject({ found: false }))
})

describe('a token', () => {
  const withToken = (more: object) =>
    ({
      ...FILE,
      authentication: {
        token: {
          request: { method: 'POST', path: '/token', body: { key: '{key}' } },
          token_at: 'data.token',
          ...more,
        },
      },
    }) as unknown as VendorFile
  const reply = ({ path }: HttpRequest) =>
    path === '/token' ? { status: 200, body: { data: { token: 't1', life: 60 } } } : body({ data: RECORD })

  it('is fetched before the first request, and sent with every one', async () => {
    const source = open(reply, withToken({ basic: { user: 'u', password: '{key}' } }))
    for (let each = 0; each < 2; each++)
      await source.findNin?.({ nin: '12345678901', phone: '8031234567' }, CALL)
    expect(source.sent.map(({ path }) => path)).toEqual(['/token', '/nin', '/nin'])
    const [token, first] = source.sent
    expect(token).toMatchObject({
      ...{
        body: { key: 'secret' },
        headers: { authorization: `Basic ${Buffer.from('u:secret').toString('base64')}` },
      },
    })
    expect(first?.headers).toMatchObject({ authorization: 'Bearer t1' })
  })

  it('has a header, a prefix and a lifetime of the file', async () => {
    const file = withToken({ header: 'x-token', prefix: '', lifetime_at: 'data.life' })
    const source = open(reply, file)
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0)
    const find = () => source.findNin?.({ nin: '12345678901', phone: '8031234567' }, CALL)
    await find()
    expect(source.sent.at(-1)?.headers).toMatchObject({ 'x-token': 't1' })
    clock.mockReturnValue(29_999)
    await find()
    // A token of a minute is used for half of it.
    clock.mockReturnValue(30_000)
    await find()
    clock.mockRestore()
    expect(source.sent.map(({ path }) => path)).toEqual(['/token', '/nin', '/nin', '/token', '/nin'])
  })
})

it('details that the vendor needs depend on the settings', () => {
  const needs = [
    { detail: 'first_name' },
    { detail: 'last_name', unless: [{ setting: 'mode', is: 'plain' }] },
    {
      detail: 'date_of_birth',
      unless: [
        { setting: 'path', contains: '/v2' },
        { setting: 'mode', is: 'no' },
      ],
    },
  ]
  const file = { ...FILE, operations: { nin: { ...request('/nin'), needs } } } as unknown as VendorFile
  const of = (settings: object) => listNeeds(file, 'nin', settings as never)
  expect(of({})).toEqual(['first_name', 'last_name', 'date_of_birth'])
  expect(of({ mode: 'plain' })).toEqual(['first_name', 'date_of_birth'])
  expect(of({ mode: 'no', path: '/v1' })).toEqual(['first_name', 'last_name'])
  expect(of({ path: '/api/v2/x' })).toEqual(['first_name', 'last_name'])
  expect(listNeeds(file, 'bvn', {})).toEqual([])
  const source = createFileSource(
    'acme',
    file,
    { mode: 'plain' },
    { send: () => Promise.reject(new Error()) },
  )
  const ofNin = ['first_name', 'date_of_birth']
  expect(source.needsDetails).toEqual({ nin: ofNin, virtual_nin: ofNin, bvn: [] })
})

it('a virtual NIN needs other details than a NIN if the file says so, and the same ones otherwise', () => {
  const needs = [{ detail: 'first_name' }]
  const toNeeds = (own: object) => {
    const operations = {
      nin: { ...request('/nin'), needs },
      virtual_nin: { ...request('/vnin'), ...own },
    }
    return open(body({}), { ...FILE, operations } as unknown as VendorFile).needsDetails
  }
  const common = { nin: ['first_name'], bvn: [] }
  expect(toNeeds({})).toEqual({ ...common, virtual_nin: ['first_name'] })
  expect(toNeeds({ needs: [] })).toEqual({ ...common, virtual_nin: [] })
  const born = { needs: [{ detail: 'date_of_birth' }] }
  expect(toNeeds(born)).toEqual({ ...common, virtual_nin: ['date_of_birth'] })
})

it('samples of the file are those of the vendor’s sandbox', () => {
  const samples = (given: object | undefined) =>
    open(body({}), { ...FILE, samples: given } as unknown as VendorFile).samples
  expect(samples(undefined)).toEqual({ details: {} })
  expect(samples({ nin: '1', bvn: '2', virtual_nin: '3', first_name: 'Ada' })).toEqual({
    ...{ nin: '1', bvn: '2', details: { first_name: 'Ada' } },
  })
})

it('where a vendor has no record, that of a synthetic person is read by the same file', () => {
  const { readDecoy } = open(body({}))
  for (const kind of ['nin', 'bvn'] as const) {
    const decoy = readDecoy?.(kind)
    expect(decoy?.body).toMatchObject({ data: { id: '10000000000', tel: '08030000000' } })
    expect(decoy?.record).toMatchObject({
      [`${kind}_number`]: '10000000000',
      personal_info: { phone_number: '08030000000' },
    })
    expect(readDecoy?.(kind)?.body).not.toBe(decoy?.body)
  }
})
