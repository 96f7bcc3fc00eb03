import { describe, expect, it } from 'vitest'
import { findChainFaults } from '../battery/chain-check.ts'
import type { Reply } from '../battery/client.ts'
import { readAudit } from '../battery/place.ts'
import { CAUSES } from './causes.ts'
import { startWatched, type Watched } from './watched.ts'

/** The server recovers within this time after the cause has ended. */
const BACK_WITHIN_MS = 5000
/** Every request is answered within this time. */
const ANSWER_WITHIN_MS = 12_000

const NIN = '73519284650'
const BVN = '64820193755'

const codeOf = ({ status, body }: Reply) => [status, JSON.parse(body).code]
const referenceOf = ({ body }: Reply): string => JSON.parse(body).data.request_reference

/** Repeats the request until the reply is as expected. Returns the time that took. */
async function poll(
  request: () => Promise<Reply>,
  isExpected: (reply: Reply) => boolean,
  mostMs: number,
): Promise<number> {
  const startedAt = performance.now()
  for (;;) {
    const reply = await request()
    const tookMs = performance.now() - startedAt
    if (isExpected(reply)) return tookMs
    if (tookMs > mostMs) throw new Error(`still ${reply.status} after ${Math.round(tookMs)} ms`)
    await new Promise((done) => setTimeout(done, 50))
  }
}

async function expectRefusals(server: Watched): Promise<void> {
  const replies = [
    await server.verifyNin(NIN),
    await server.verifyBvn(BVN),
    await server.verifyNin(NIN, { 'idempotency-key': 'a' }),
    await server.verifyBvn(BVN, { 'idempotency-key': 'first' }),
  ]
  for (const reply of replies) {
    expect(codeOf(reply)).toEqual([503, 'audit_unavailable'])
    expect(reply.headers['retry-after']).toBe('5')
    const body = JSON.parse(reply.body)
    // A key that cannot be read again, a second later, is refused before the verification has a reference.
    const { data = { request_reference: '' } } = body
    expect(Object.keys(data)).toEqual(['request_reference'])
    expect(Object.keys({ ...body, data }).toSorted()).toEqual([
      'code',
      'data',
      'message',
      'request_id',
      'retryable',
      'success',
    ])
  }
}

describe.concurrent('when the audit log cannot be written, because', () => {
  describe.each(CAUSES.map((cause) => [titleOf(cause), cause] as const))('%s', (_title, cause) => {
    it.skipIf(cause.missing)(
      'no source is called, nothing is disclosed, and the server recovers when the cause ends',
      async ({ onTestFinished }) => {
        const { settings, begin, cleanUp } = await cause.prepare()
        onTestFinished(cleanUp)
        const server = await startWatched(settings)
        onTestFinished(async () => void (await server.stop()))
        const first = await server.verifyBvn(BVN, { 'idempotency-key': 'first' })
        expect([first.status, (await server.verifyNin(NIN)).status]).toEqual([200, 200])
        expect((await server.get('/health/ready?strict')).status).toBe(200)
        const callsBefore = await server.calls()

        const end = once(await begin(server.pid))
        onTestFinished(end)
        const startedAt = performance.now()
        // The first requests detect the cause; later requests are refused at once.
        const together = await Promise.all([server.verifyNin(NIN), server.verifyBvn(BVN)])
        for (const reply of together) expect(codeOf(reply)).toEqual([503, 'audit_unavailable'])
        expect(performance.now() - startedAt).toBeLessThan(ANSWER_WITHIN_MS)
        await expectRefusals(server)
        await poll(
          () => server.get('/health/ready?strict'),
          ({ status }) => status === 503,
          BACK_WITHIN_MS,
        )
        const ready = await server.get('/health/ready')
        expect([ready.status, JSON.parse(ready.body)]).toEqual([
          200,
          expect.objectContaining({ status: 'degraded', store: 'failed', audit: 'failed' }),
        ])
        expect((await server.get('/health/live')).status).toBe(200)
        expect((await server.get('/api/v2/sme-data/list')).status).toBe(200)
        expect((await server.get('/api/v2/internet/data/smile/lookup')).status).toBe(200)
        expect(await server.calls()).toBe(callsBefore)

        await end()
        const isGood = ({ status }: Reply) => status === 200
        const backMs = await poll(() => server.verifyNin(NIN), isGood, BACK_WITHIN_MS)
        expect(backMs).toBeLessThan(BACK_WITHIN_MS)
        await poll(() => server.get('/health/ready?strict'), isGood, BACK_WITHIN_MS)
        const replay = await server.verifyBvn(BVN, { 'idempotency-key': 'first' })
        expect([replay.headers['idempotent-replayed'], replay.body]).toEqual(['true', first.body])
        // An Idempotency-Key can be used again after the request was refused.
        const last = await server.verifyNin(NIN, { 'idempotency-key': 'a' })
        expect([last.status, last.headers['idempotent-replayed']]).toEqual([200, undefined])

        const rows = await readAudit(server)
        expect(findChainFaults(rows)).toEqual([])
        for (const reply of [first, last])
          expect(rows).toContainEqual(
            expect.objectContaining({ phase: 'outcome', request_reference: referenceOf(reply) }),
          )
      },
    )
  })
})

/** The same work, done at most once. */
function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= work()
    return done
  }
}

function titleOf({ name, missing }: (typeof CAUSES)[number]): string {
  return missing === undefined ? name : `${name} (skipped: ${missing})`
}
