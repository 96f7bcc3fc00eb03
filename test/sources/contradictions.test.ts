import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { IDENTITY_VENDORS, LIST_VENDORS } from '../../src/simulator/vendors.ts'
import { openVendor } from '../../src/sources/open-vendor.ts'
import { bearer, openTestApp } from '../app.ts'
import { NUMBER, PHONE, useAlteredVendor } from './altered-vendor.ts'
import { type Kind, kindsOf, mainKindOf, recordOf } from './identity-vendors.ts'

/** A record beside a sign of failure is discarded, whatever the vendor and the sign. */
const SIGNS: readonly Readonly<Record<string, unknown>>[] = [
  ...[false, 'false', 'FALSE', 0, '0', 'no', null, 'error'].map((success) => ({ success })),
  { isSuccessful: false },
  ...[false, 'false', 'False', 0, 500, '404', 'error', 'Failed', 'FAILURE', 'failed: no answer'].map(
    (status) => ({ status }),
  ),
  ...['unsuccessful', 'Not Verified', 'not_found', 'UNVERIFIED', 'pending', 'rejected', 'invalid'].map(
    (status) => ({ status }),
  ),
  ...['Service is down', true, 1, ['late'], { code: 'E_DOWN' }].map((error) => ({ error })),
  ...['no record', 'blocked', 'down', 'bad_request'].map((status) => ({ status })),
  { result: 'failed' },
  { outcome: 'failure' },
  ...[false, 'no'].flatMap((no) => [{ verified: no }, { is_verified: no }, { found: no }, { isValid: no }]),
  { fault: 'late' },
  { errors: ['late'] },
  { errors: { nin: ['unknown'] } },
  { error_message: 'Service is down' },
  { failed: true },
]

/** What vendors send where nothing failed. */
const HARMLESS: readonly Readonly<Record<string, unknown>>[] = [
  { success: true },
  ...[null, '', 'none', 'N/A', false, 'false', [], {}, 0, { nin: [] }].map((error) => ({ error })),
  { errors: [] },
  { verified: null, found: '', valid: true },
  { result: 'found', outcome: {}, responseCode: '00', error_code: 0 },
  ...['success', 'Successful', 'Verification Successfull', 'NIN verification completed', 'Record found'].map(
    (message) => ({ message }),
  ),
  { message: 'The request did not fail' },
]

type Body = Readonly<Record<string, unknown>>
const isObject = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The sign beside the record, or among its fields. */
const putBeside = (sign: Body) => (body: unknown) => ({ ...(body as Body), ...sign })
const putInside = (record: string | undefined) => (sign: Body) => (body: unknown) =>
  Object.fromEntries(
    Object.entries(body as Body).map(([name, part]) => [
      name,
      isObject(part) && (name === record || Object.keys(part).length > 4) ? { ...part, ...sign } : part,
    ]),
  )
const placesOf = (vendor: string, kind: Kind) => {
  const record = recordOf(vendor, kind)
  const beside = ['beside the record', putBeside] as const
  return record === '$' ? [beside] : [beside, ['in the record', putInside(record)] as const]
}

const withoutWatchList = (body: unknown) =>
  JSON.parse(JSON.stringify(body), (name, value) => (/watch/i.test(name) ? undefined : value))

describe.each(IDENTITY_VENDORS.map((script) => [script.name, script] as const))('%s', (name, script) => {
  const { alter, find } = useAlteredVendor(script)

  it.runIf(kindsOf(name).includes('bvn')).each(placesOf(name, 'bvn'))(
    'a watch list entry %s counts under every name of it',
    async (_where, put) => {
      const names = [
        'watchlisted',
        'watch_listed',
        'watchListed',
        'isWatchListed',
        'WATCH_LIST',
        'blacklisted',
      ]
      for (const [value, listed] of [
        ['YES', 'YES'],
        [true, 'YES'],
        ['NO', null],
        ['N/A', null],
      ] as const)
        for (const entry of names) {
          alter((body) => put({ [entry]: value })(withoutWatchList(body)))
          const found = { found: true, record: { watchlisted: listed } }
          expect(await find.bvn(), `${entry} ${value}`).toMatchObject(found)
        }
    },
  )

  it('discards a record beside a text or a code of failure', async () => {
    const texts = [
      'Record not found',
      'NIN not found.',
      'Verification failed',
      'Failed: try again',
      'Not found',
    ]
    const codes = [{ resultCode: '500' }, { error_code: 404 }]
    for (const sign of [...texts.map((message) => ({ message })), { detail: texts[0] }, ...codes]) {
      alter((body) => ({ ...(body as Body), ...sign }))
      await expect(find[mainKindOf(name)](), JSON.stringify(sign)).rejects.toMatchObject({
        reason: 'bad_response',
      })
    }
  })

  describe.each(kindsOf(name))('%s', (kind) => {
    it.each(placesOf(name, kind))('is discarded with a sign of failure %s', async (_where, put) => {
      for (const sign of SIGNS) {
        alter(put(sign))
        const result = await find[kind]().catch((error: unknown) => error)
        expect(result, JSON.stringify(sign)).toMatchObject({ name: 'SourceError', reason: 'bad_response' })
      }
    })

    it.each(placesOf(name, kind))(
      'is found with a field %s that only looks like one',
      async (_where, put) => {
        for (const sign of HARMLESS) {
          alter(put(sign))
          expect(await find[kind](), JSON.stringify(sign)).toMatchObject({ found: true })
        }
      },
    )
  })
})

describe.each(LIST_VENDORS.map((script) => [script.name, script] as const))(
  'the lists of %s',
  (name, script) => {
    it('are discarded with a sign of failure', async () => {
      const vendor = await openStandIn(script)
      const { vendors } = loadConfig(vendor.settings, '')
      const source = await openVendor(name, { vendors, allowPrivate: false })
      const fetchLists = () =>
        source.fetchCatalogue?.(
          { internet: [], tv: [] },
          { signal: AbortSignal.timeout(60_000), reference: 'ver_test' },
        )
      expect(await fetchLists()).toMatchObject({ tv: expect.any(Array) })
      for (const sign of [{ success: false }, { success: 'false' }, { error: 'late' }]) {
        vendor.alter((body) => ({ ...(body as Body), ...sign }))
        await expect(fetchLists(), JSON.stringify(sign)).rejects.toMatchObject({ reason: 'bad_response' })
      }
      await source.close?.()
      await vendor.close()
    })
  },
)

it('leads to the next source, and alone to 502', async () => {
  const [dojah, prembly] = ['dojah', 'prembly'].map((name) =>
    IDENTITY_VENDORS.find((script) => script.name === name),
  )
  if (!dojah || !prembly) throw new Error('no such vendor')
  const [first, second] = [await openStandIn(dojah), await openStandIn(prembly)]
  first.alter((body) => ({ ...(body as Body), success: false }))
  for (const [order, status] of [
    ['dojah', 502],
    ['dojah,prembly', 200],
  ] as const) {
    const server = await openTestApp({ ...first.settings, ...second.settings, TABBAT_NIN_SOURCES: order })
    const answer = await server.app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: bearer(await server.createKey({ mode: 'live' })),
      payload: { nin: NUMBER, phone: `0${PHONE}` },
    })
    expect(answer.statusCode).toBe(status)
    await server.close()
  }
  await first.close()
  await second.close()
})
