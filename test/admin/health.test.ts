import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import type { Health } from '../../src/admin/health.ts'
import { HOUR_MS } from '../../src/contract/time.ts'
import { failed, failedAbout, toWorst, warningAbout } from '../../src/health/finding.ts'
import { createHealthMonitor, toSightings } from '../../src/health/health-monitor.ts'
import { openTestConsole, type TestConsole } from './test-console.ts'

let at: TestConsole
let viewer: string
beforeAll(async () => {
  at = await openTestConsole({ TABBAT_STORE_TIMEOUT: '1s' })
  viewer = await at.openSession('viewer')
})
afterAll(() => at.close())

const read = async () => (await at.request('/admin/health', { cookie: viewer })).json() as unknown as Health
const find = ({ checks }: Health, name: string) => checks.find(({ check }) => check === name)

it('has the checks of tabbat doctor, those of the data a moment later', async () => {
  expect((await read()).checks.map(({ check }) => check)).toContain('disk')
  await expect.poll(async () => (await read()).data_checked_at).not.toBeNull()
  const health = await read()
  expect(health.status).not.toBe('ok')
  expect(find(health, 'audit log')).toEqual({
    check: 'audit log',
    status: 'ok',
    text: 'The server can write it.',
  })
  expect(find(health, 'ports')?.status).toBe('ok')
  expect(find(health, 'backups')).toMatchObject({ status: 'warning', text: /tabbat backup/ })
  expect(find(health, 'webhooks')?.status).toBe('ok')
})

it('answers while the store is locked, says what is wrong and what is not checked, and checks again at once', async () => {
  await expect.poll(async () => (await read()).data_checked_at).not.toBeNull()
  const other = new DatabaseSync(join(at.context.config.dataDir, 'tabbat.db'), { timeout: 5000 })
  other.exec('BEGIN IMMEDIATE')
  await expect.poll(async () => find(await read(), 'audit log')?.status).toBe('failed')
  const health = await read()
  expect(health.status).toBe('failed')
  expect(find(health, 'backups')?.status).toBe('warning')
  expect(find(health, 'webhooks')).toMatchObject({ status: 'skipped', text: /^Not checked:/ })
  other.exec('ROLLBACK')
  other.close()
  await expect.poll(async () => find(await read(), 'audit log')?.status).toBe('ok')
  await expect.poll(async () => find(await read(), 'webhooks')?.status).toBe('ok')
  await expect.poll(async () => (await read()).data_checked_at).not.toBe(health.data_checked_at)
})

it('makes checks once for all who ask', async () => {
  let probes = 0
  const check = async () => {
    probes += 1
    return false
  }
  const monitor = createHealthMonitor({ ...at.context, audit: { check, isHealthy: false } })
  const answers = await Promise.all([monitor.read(), monitor.read(), monitor.read()])
  for (const { findings, dataAt } of answers)
    expect([dataAt, findings[0]]).toMatchObject([undefined, { check: 'audit log', status: 'failed' }])
  expect(probes).toBe(1)
})

it('goes on with the checks of the data when the clock is set back', async () => {
  onTestFinished(() => void vi.restoreAllMocks())
  const steady = performance.now.bind(performance)
  let laterMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => steady() + laterMs)
  const monitor = createHealthMonitor(at.context)
  await expect.poll(async () => (await monitor.read()).dataAt).toBeDefined()
  const { dataAt = 0 } = await monitor.read()
  vi.spyOn(Date, 'now').mockImplementation(() => dataAt - 6 * HOUR_MS)
  laterMs = 61_000
  await expect.poll(async () => (await monitor.read()).dataAt).toBe(dataAt - 6 * HOUR_MS)
})

it('names the node for what is about its clock or folders, and none for what all nodes see', () => {
  const findings = [
    failed('clock', 'It is behind.'),
    failed('erasures', 'They cannot be written.'),
    failed('sources', 'None answers.'),
    toWorst('checkpoints', [warningAbout('folder', 'Beside.'), failedAbout('whk_1', 'It refuses.')], ''),
    failed('disk', 'It is full.'),
  ]
  const report = { at: 0, dataAt: 0, findings, local: findings.slice(-1) }
  expect(toSightings(report, 'n1').findings.map(({ name, scope }) => [name, scope])).toEqual([
    ['clock', 'n1'],
    ['erasures', 'n1'],
    ['sources', ''],
    ['checkpoints: folder', 'n1'],
    ['checkpoints: whk_1', ''],
    ['disk', 'n1'],
  ])
})
