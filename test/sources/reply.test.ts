import { describe, expect, it } from 'vitest'
import { PrivateAddress } from '../../src/sources/public-address.ts'
import {
  createPhraseMatcher,
  createReader,
  exchangeError,
  isAboutNoPerson,
  isFormatComplaint,
  isFundsText,
  isTemporary,
  NO_SUCH_PERSON,
  namesOtherNumber,
  objectWith,
  optionalFields,
  PHONE_DIFFERS,
  readRetryAfterMs,
  refuseContradiction,
  saysFailure,
  statusError,
  toErrorText,
  withRetryAfter,
} from '../../src/sources/reply.ts'
import { SourceError } from '../../src/sources/source.ts'

const describeError = ({ source, reason, problem }: SourceError) => `${source} ${reason}/${problem}`

describe('the HTTP status of a failure', () => {
  it.each([
    [199, 'bad_response/unknown_shape'],
    [200, 'bad_response/unknown_shape'],
    [299, 'bad_response/unknown_shape'],
    [300, 'bad_response/redirected'],
    [399, 'bad_response/redirected'],
    [400, 'bad_response/unlisted'],
    [401, 'refused/credentials'],
    [402, 'refused/funds'],
    [403, 'refused/credentials'],
    [404, 'bad_response/unknown_path'],
    [405, 'bad_response/unknown_path'],
    [408, 'timeout/too_slow'],
    [422, 'bad_response/unlisted'],
    [424, 'unreachable/vendor_down'],
    [429, 'throttled/too_many'],
    [499, 'bad_response/unlisted'],
    [500, 'unreachable/vendor_failed'],
    [503, 'unreachable/vendor_failed'],
    [504, 'timeout/too_slow'],
    [Number.NaN, 'bad_response/unknown_shape'],
  ])('%i means %s', (status, meaning) => {
    expect(describeError(statusError('acme', status))).toBe(`acme ${meaning}`)
  })

  it.each([
    ['Try again later', 'unreachable/vendor_down'],
    ['Not available at this time', 'unreachable/vendor_down'],
    ['The request timed out', 'unreachable/vendor_down'],
    ['Insufficient wallet balance', 'refused/funds'],
    ['Please top up', 'refused/funds'],
    ['Zero units', 'refused/funds'],
    ['Merchant not found', 'refused/unknown_account'],
    ['The user was not found', 'refused/unknown_account'],
    ['Wrong API key', 'refused/credentials'],
    ['You are not authorised', 'refused/credentials'],
    ['Not found.', 'bad_response/unknown_path'],
    ['Cannot POST /nin', 'bad_response/unknown_path'],
    ['This route is gone', 'bad_response/unknown_path'],
    ['nin must match the pattern', 'bad_response/rejected'],
    ['A number that is unknown', 'bad_response/unlisted'],
  ])('of a 4xx depends on its text: %s', (text, meaning) => {
    expect(describeError(statusError('acme', 400, text))).toBe(`acme ${meaning}`)
    expect(describeError(statusError('acme', 404, text))).toBe(`acme ${meaning}`)
    // Elsewhere the status says more.
    expect(describeError(statusError('acme', 500, text))).toBe('acme unreachable/vendor_failed')
    expect(describeError(statusError('acme', 401, text))).toBe('acme refused/credentials')
  })

  it('never has the text of the vendor in its error', () => {
    const { message, stack } = statusError('acme', 400, 'No record for 12345678901')
    expect(`${message} ${stack}`).not.toContain('12345678901')
  })
})

describe('a text', () => {
  it('is about a person, or about something else', () => {
    const texts = [
      'Try again later',
      'No funds',
      'Merchant not found',
      'Bad credentials',
      'Not found',
      'invalid',
    ]
    expect(texts.map(isTemporary)).toEqual([true, false, false, false, false, false])
    expect(texts.map(isFundsText)).toEqual([false, true, false, false, false, false])
    expect(texts.map(isFormatComplaint)).toEqual([false, false, false, false, false, true])
    expect([...texts, 'NIN not found'].map(isAboutNoPerson)).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
      false,
    ])
  })

  it('is taken from the first of three fields that has one', () => {
    expect(toErrorText({ message: 'a', detail: 'b', error: 'c' })).toBe('a')
    expect(toErrorText({ message: '', detail: 'b', error: 'c' })).toBe('b')
    expect(toErrorText({ message: null, error: 'c' })).toBe('c')
    for (const body of [null, undefined, 'text', 7, {}, { title: 'x' }]) expect(toErrorText(body)).toBe('')
  })
})

describe('a phrase', () => {
  const isListed = createPhraseMatcher(['No record for {number}', 'Gone'], undefined, ['Unknown  Person.'])

  it.each([
    'gone',
    ' GONE! ',
    'Gone...',
    'unknown\n person',
    'No record for 12345678901',
    'no record for AB012345678910YZ.',
    'no record for {number}',
  ])('is recognised in any spelling: %j', (text) => expect(isListed(text)).toBe(true))

  it.each([
    '',
    'gone away',
    'not gone',
    'No record for 1234567890',
    'No record for 123456789012',
    'No record for x12345678901',
    'unknownperson',
    '!gone',
  ])('counts only as a whole: %j', (text) => expect(isListed(text)).toBe(false))

  it.each([
    'Record not found',
    'No record',
    'No record found',
    'No such record',
    'No record for 12345678901',
    'NIN not found',
    'BVN does not exist',
    'vNIN record not found',
    'No record found for virtual NIN',
    'No record found for this BVN',
    'No record found for the NIN provided',
    'NIN not found. Please provide a valid NIN',
    'BVN provided is not found. Please provide a valid BVN',
  ])('means for every vendor that there is no such person: %s', (text) =>
    expect(createPhraseMatcher(NO_SUCH_PERSON)(text)).toBe(true),
  )

  it.each([
    'Phone mismatch',
    'Phone number does not match',
    'Phone does not match our records',
    'Phone number does not match the NIN',
    'Phone does not match the BVN',
    'Phone does not match the record',
  ])('means for every vendor that the phone differs: %s', (text) =>
    expect(createPhraseMatcher(PHONE_DIFFERS)(text)).toBe(true),
  )
})

describe('a reply with a record', () => {
  it.each<[string, object]>([
    ...['success', 'Successful', 'is_success', 'isSuccessful', 'requestSuccessful', 'OK'].flatMap(
      (name): [string, object][] => [
        [name, { [name]: false }],
        [name, { [name]: 'no' }],
        [name, { [name]: null }],
      ],
    ),
    ...['failed', 'isError', 'has_error', 'hasErrors', 'exception', 'error', 'errors', 'errorMessage'].map(
      (name): [string, object] => [name, { [name]: 'yes' }],
    ),
    ...['error_messages', 'err', 'fault', 'faultString'].map((name): [string, object] => [
      name,
      { [name]: ['x'] },
    ]),
    ...['verified', 'isVerified', 'found', 'is_found', 'valid', 'isValid'].flatMap(
      (name): [string, object][] => [
        [name, { [name]: false }],
        [name, { [name]: ' No ' }],
        [name, { [name]: 0 }],
      ],
    ),
    ...['status', 'verificationStatus', 'request_status', 'responseStatus', 'result', 'outcome'].flatMap(
      (name): [string, object][] => [
        [name, { [name]: 'FAILED' }],
        [name, { [name]: false }],
        [name, { [name]: 404 }],
        [name, { data: { [name]: 'pending' } }],
      ],
    ),
    ...[
      'error',
      'unsuccessful',
      'not verified',
      'not_found',
      'invalid',
      'timed out',
      'time-out',
      'in progress',
    ].map((text): [string, object] => ['status', { status: text }]),
    ...['no record', 'down', 'bad_request', 'declined', 'expired', 'blocked', 'queued'].map(
      (text): [string, object] => ['status', { status: text }],
    ),
    ...['statusCode', 'code', 'http_status', 'httpCode', 'responseCode', 'resultCode', 'errorCode'].flatMap(
      (name): [string, object][] => [
        [name, { [name]: 404 }],
        [name, { [name]: ' 500 ' }],
      ],
    ),
    ...['message', 'detail', 'description', 'reason'].flatMap((name): [string, object][] => [
      [name, { [name]: 'Record not found' }],
      [name, { [name]: ' Verification failed' }],
      [name, { [name]: 'Error: something' }],
    ]),
  ])('says by %s that it failed: %j', (_name, body) => expect(saysFailure(body)).toBe(true))

  it.each<unknown>([
    null,
    undefined,
    'failed',
    [{ success: false }],
    {},
    { success: true },
    { success: 'YES' },
    { success: 1 },
    { ok: 'successful' },
    { error: null },
    { error: '' },
    { error: false },
    { error: 'none' },
    { error: 'N/A' },
    { error: '--' },
    { errors: [] },
    { errors: { a: null, b: [0, ''] } },
    { failed: 0 },
    { verified: null },
    { verified: 'partly' },
    { found: true },
    { status: 'verified' },
    { status: 200 },
    { status: 399 },
    { status: 600 },
    { status: 4040 },
    { status: { state: 'failed' } },
    { status: 'errorless' },
    { status: 'downtown' },
    { code: 200 },
    { code: '4040' },
    { data: { code: 404 } },
    { data: { message: 'Record not found' } },
    { data: { deeper: { success: false } } },
    { data: [{ success: false }] },
    { message: 'Verification successful' },
    { message: 404 },
    { message: 'Retry after failed' },
    { title: 'Error' },
  ])('does not say so: %j', (body) => expect(saysFailure(body)).toBe(false))

  it('has errors of three levels at most that say nothing', () => {
    const wrap = (value: unknown, levels: number): unknown =>
      levels === 0 ? value : [wrap(value, levels - 1)]
    expect(saysFailure({ errors: wrap('', 3) })).toBe(false)
    expect(saysFailure({ errors: wrap('', 4) })).toBe(true)
    expect(saysFailure({ errors: [null, 'x'] })).toBe(true)
  })

  it('that reports a failure is a contradiction', () => {
    expect(() => refuseContradiction('acme', false)).not.toThrow()
    expect(() => refuseContradiction('acme', true)).toThrow(
      expect.objectContaining({ source: 'acme', reason: 'bad_response', problem: 'contradictory' }),
    )
  })
})

it('a reply of another shape is a bad response', () => {
  const read = createReader('acme', objectWith({ data: optionalFields('id', 'name') }))
  const body = { data: { id: 7, other: [] }, more: null }
  expect(read(body)).toBe(body)
  for (const other of [null, 'text', {}, { data: 'text' }])
    expect(() => read(other)).toThrow(
      expect.objectContaining({ source: 'acme', reason: 'bad_response', problem: 'unknown_shape' }),
    )
})

describe('Retry-After', () => {
  const read = (headers: Record<string, string | string[] | undefined>, statusCode = 429, maxMs?: number) =>
    readRetryAfterMs({ statusCode, headers }, maxMs)

  it('is cut to the longest wait', () => {
    expect(read({ 'retry-after': '600' })).toBe(600_000)
    expect(read({ 'retry-after': '601' })).toBe(600_000)
    expect(read({ 'retry-after': '999999999' }, 429, 5)).toBe(5)
    expect(read({ 'retry-after': '9999999999' })).toBeUndefined()
  })

  it('is read of 429 and 503 only, and only once', () => {
    expect([429, 503, 500, 200].map((status) => read({ 'retry-after': '1' }, status))).toEqual([
      1000,
      1000,
      undefined,
      undefined,
    ])
    expect(read({ 'retry-after': ['1', '2'] })).toBeUndefined()
    expect(read({})).toBeUndefined()
  })

  it('as a date is compared with the clock here where the vendor tells no time', () => {
    const inAnHour = new Date(Date.now() + 3_600_000).toUTCString()
    expect(read({ 'retry-after': inAnHour, date: 'soon' })).toBe(600_000)
    expect(read({ 'retry-after': new Date(Date.now() - 5000).toUTCString() })).toBeUndefined()
  })

  const failWith = (error: unknown, ms?: number) =>
    withRetryAfter(async (onRetryAfter) => {
      if (ms !== undefined) onRetryAfter(ms)
      throw error
    }).catch((thrown) => thrown)

  it('is added to the error of a source that is throttled or down', async () => {
    for (const reason of ['throttled', 'unreachable'] as const) {
      const error = new SourceError('acme', reason, { problem: 'too_many' })
      const thrown = await failWith(error, 7000)
      expect({ ...thrown }).toEqual({ ...error, retryAfterMs: 7000 })
    }
  })

  it('is not added to other errors', async () => {
    const errors = [
      new SourceError('acme', 'refused', { problem: 'funds' }),
      new SourceError('acme', 'throttled', { problem: 'too_many', fault: 'request' }),
      new SourceError('acme', 'throttled', { problem: 'too_many', retryAfterMs: 1 }),
      new TypeError('a defect'),
    ]
    for (const error of errors) expect(await failWith(error, 7000)).toBe(error)
    const plain = new SourceError('acme', 'throttled', { problem: 'too_many' })
    expect(await failWith(plain)).toBe(plain)
    expect(await withRetryAfter(async () => 'answer')).toBe('answer')
  })
})

describe('an exchange that fails', () => {
  const NOTHING = { sent: false, answered: false }
  const SENT = { sent: true, answered: false }
  const ANSWERED = { sent: true, answered: true }
  const meaning = (error: unknown, progress = NOTHING, aborted = false) => {
    const { reason, problem, sent, fault } = exchangeError('acme', error, progress, aborted)
    return `${reason}/${problem} ${sent ? 'sent' : 'unsent'} ${fault}`
  }
  const coded = (code: string) => Object.assign(new Error('https://x/12345678901'), { code })

  it.each([
    ['ENOTFOUND', 'no_such_host'],
    ['EAI_AGAIN', 'no_such_host'],
    ['SLOW_CONNECTION', 'slow_connection'],
    ['UND_ERR_CONNECT_TIMEOUT', 'slow_connection'],
    ['ETIMEDOUT', 'slow_connection'],
    ['ECONNRESET', 'no_tls'],
    ['EPROTO', 'no_tls'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'no_tls'],
    ['CERT_HAS_EXPIRED', 'bad_certificate'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'bad_certificate'],
    ['SELF_SIGNED_X', 'bad_certificate'],
    ['ERR_TLS_X', 'bad_certificate'],
    ['UNABLE_TO_VERIFY', 'bad_certificate'],
    ['ECONNREFUSED', 'no_connection'],
    ['', 'no_connection'],
  ])('before it was sent, with %s, has the problem %s', (code, problem) => {
    expect(meaning(coded(code))).toMatch(new RegExp(`^unreachable/${problem} unsent`))
  })

  it.each([
    ['ECONNRESET', SENT, 'unreachable/cut_off sent source'],
    ['HPE_INVALID', SENT, 'bad_response/unknown_shape sent source'],
    ['UND_ERR_HEADERS_OVERFLOW', SENT, 'bad_response/unknown_shape sent source'],
    ['HPE_INVALID', ANSWERED, 'bad_response/truncated sent source'],
    ['ECONNRESET', ANSWERED, 'bad_response/truncated sent source'],
  ])('after it was sent, with %s, is the fault of the source', (code, progress, expected) => {
    expect(meaning(coded(code), progress)).toBe(expected)
  })

  it('by the deadline is too slow, and may have been paid for if it was sent', () => {
    for (const code of ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']) {
      expect(meaning(coded(code), SENT)).toMatch(/^timeout\/too_slow sent/)
      expect(meaning(coded(code))).toMatch(/^timeout\/too_slow unsent/)
    }
    expect(meaning(coded('X'), SENT, true)).toMatch(/^timeout\/too_slow sent/)
  })

  it('at a private address is refused before anything is sent', () => {
    expect(meaning(new PrivateAddress(), SENT)).toMatch(/^refused\/private_address unsent/)
  })

  it('with an error of a source is that error, and no other error is repeated', () => {
    const error = new SourceError('acme', 'throttled')
    expect(exchangeError('other', error, SENT, true)).toBe(error)
    const made = exchangeError('acme', coded('X'), SENT, false)
    expect(`${made.message} ${made.stack}`).not.toContain('12345678901')
    for (const thrown of [undefined, null, 'text']) expect(meaning(thrown)).toMatch(/no_connection unsent/)
  })
})

describe('a reply without a record', () => {
  const ASKED = { number: '12345678901', phone: '8031234567' }
  const MOBILE = '08099999999'

  it.each([
    { message: 'No record for 99345678901' },
    { message: 'NIN not found', error: 'No record for 99345678901' },
    { message: 'No record', data: { errors: [{ text: 'unknown: AB012345678910YZ' }] } },
    { message: 'Phone 08031234567 has no record 99345678901' },
    { message: 'No record for 12345678901, nor for 99345678901' },
    // In the place of the number, it may be one.
    { message: `No record for ${MOBILE}` },
    { status: 'not_found', data: { idNumber: '99345678901' } },
    { status: 'not_found', NIN: 99345678901 },
    { status: 'not_found', search_parameter: MOBILE },
  ])('names another number in %j', (body) => {
    expect(namesOtherNumber(body, ASKED)).toBe(true)
  })

  it.each([
    undefined,
    'No record',
    {},
    { message: 'No record' },
    { message: 'No record for 12345678901' },
    { message: 'No record for the phone 08031234567' },
    { message: 'No record for 123*****901 or 2348099999999' },
    { message: `No record for 12345678901. Call ${MOBILE}.` },
    { message: 'No record', help: `Call ${MOBILE}.` },
    { message: 'No record', reference: '99345678901', at: 99345678901 },
    { data: { idNumber: '12345678901', searchParameter: null } },
  ])('names no other number in %j', (body) => {
    expect(namesOtherNumber(body, ASKED)).toBe(false)
  })

  it('may repeat a virtual NIN in small letters, and names another one', () => {
    const asked = { ...ASKED, number: 'AB012345678910YZ' }
    expect(namesOtherNumber({ message: 'No record for ab012345678910yz' }, asked)).toBe(false)
    expect(namesOtherNumber({ message: 'No record for AB012345678911YZ' }, asked)).toBe(true)
    expect(namesOtherNumber({ message: 'No record for 12345678901' }, asked)).toBe(true)
  })

  it('may repeat a number that is malformed', () => {
    const body = { message: `No record for 1234567890. Call ${MOBILE}.` }
    expect(namesOtherNumber(body, { ...ASKED, number: '1234567890' })).toBe(false)
    expect(namesOtherNumber(body, ASKED)).toBe(true)
  })

  it('is searched to a limited depth', () => {
    const nest = (depth: number): unknown =>
      depth === 0 ? 'No record for 99345678901' : { in: nest(depth - 1) }
    expect([namesOtherNumber(nest(5), ASKED), namesOtherNumber(nest(6), ASKED)]).toEqual([true, false])
  })
})
