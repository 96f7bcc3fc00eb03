import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Overview } from '../../src/admin/overview-figures.ts'
import { createTail } from '../../src/requests/search.ts'
import { bearer, PHONE } from '../app.ts'
import { openTestConsole, type TestConsole } from './test-console.ts'

let at: TestConsole
let viewer: string
let key: string
beforeAll(async () => {
  at = await openTestConsole({ TABBAT_STORE_TIMEOUT: '1s' })
  viewer = await at.openSession('viewer')
  key = await at.createKey({ name: 'loans app', mode: 'test' })
})
afterAll(() => at.close())

const verify = async (nin: string) => {
  const answer = await at.app.inject({
    method: 'POST',
    url: '/api/v2/kyc/verify-nin',
    headers: bearer(key),
    payload: { nin, phone: PHONE },
  })
  return answer.statusCode
}

const readOverview = async (range: string) =>
  (
    await at.request(`/admin/overview?range=${range}&mode=test`, { cookie: viewer })
  ).json() as unknown as Overview

it('counts the 503 of callers while the store is locked, and afterwards', async () => {
  expect([await verify('30000000001'), await verify('00000000422'), await verify('not a number')]).toEqual([
    200, 422, 422,
  ])
  const tail = createTail(at.context.store.requests, {}, undefined, at.context.inMemory.requests)
  const other = new DatabaseSync(join(at.context.config.dataDir, 'tabbat.db'), { timeout: 5000 })
  other.exec('BEGIN IMMEDIATE')
  const during = await Promise.all(['1', '2', '3', '4'].map((digit) => verify(`3100000000${digit}`)))
  expect(during).toEqual([503, 503, 503, 503])
  const expected = {
    answers: { verified: 1, not_verified: 1, refused: 1, failed: 4, limited: 0, pending: 0, broken_off: 0 },
    answered_rate: 2 / 7,
    verified_rate: 1 / 2,
    causes: [
      { code: 'audit_unavailable', status: 503, requests: 4 },
      { code: 'validation_failed', status: 422, requests: 1 },
    ],
  }
  expect(await readOverview('hour')).toMatchObject(expected)
  // From memory: nothing can be written.
  expect((await tail()).rows.filter(({ status }) => status === 503)).toHaveLength(4)
  expect((await tail()).rows).toEqual([])
  other.exec('ROLLBACK')
  other.close()
  await expect
    .poll(async () => {
      await at.context.answers.flush()
      return at.context.answers.list().filter(({ unwritten }) => unwritten > 0)
    })
    .toEqual([])
  for (const range of ['day', 'month']) expect(await readOverview(range)).toMatchObject(expected)
  const { steps } = await readOverview('day')
  expect(steps.reduce((sum, { answers }) => sum + answers.failed, 0)).toBe(4)
})

it('counts limits', async () => {
  await expect.poll(() => verify('00000000429')).toBe(429)
  const { causes } = await readOverview('week')
  expect(causes).toContainEqual({ code: 'rate_limited', status: 429, requests: 1 })
})
