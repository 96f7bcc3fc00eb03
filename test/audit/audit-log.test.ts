import { setImmediate as turn } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { openAuditLog } from '../../src/audit/audit-log.ts'
import { openStore } from '../../src/context/store.ts'
import { newFolder } from '../engines.ts'
import { openLog, signer } from './old-log.ts'

const MINUTE_MS = 60_000

/** Lets no timer go on, which expect.poll would. */
async function waitUntil(holds: () => boolean): Promise<void> {
  const end = performance.now() + MINUTE_MS
  while (!holds() && performance.now() < end) await turn()
  expect(holds()).toBe(true)
}

/** A store on a clock that stands still. */
async function openStill() {
  vi.useFakeTimers({ toFake: ['setInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const folder = newFolder()
  const store = await openStore({ dataDir: folder, databaseUrl: undefined, writerThread: false })
  onTestFinished(() => store.close())
  return { folder, store }
}

it('makes a checkpoint every minute in which rows were written', async () => {
  const { folder, store } = await openStill()
  const audit = await openLog(store, folder)
  onTestFinished(() => audit.close())
  await audit.record([{ phase: 'outcome', request_reference: 'ver_a' }])
  expect(audit.rowsSinceCheckpoint).toBe(1)
  expect(await store.audit.listCheckpoints()).toEqual([])
  vi.advanceTimersByTime(MINUTE_MS)
  await waitUntil(() => audit.rowsSinceCheckpoint === 0)
  expect(await store.audit.listCheckpoints()).toHaveLength(1)

  vi.advanceTimersByTime(5 * MINUTE_MS)
  await audit.record([{ phase: 'outcome', request_reference: 'ver_b' }])
  expect(await store.audit.listCheckpoints()).toHaveLength(1)
})

it('work that waits for the log is called by the probe that finds it writable again', async () => {
  const { folder, store } = await openStill()
  let isAway = false
  const table = {
    ...store.audit,
    sendHeartbeat: (...args: Parameters<typeof store.audit.sendHeartbeat>) =>
      isAway
        ? Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))
        : store.audit.sendHeartbeat(...args),
  }
  const onUnavailable = vi.fn()
  const audit = await openAuditLog({
    table,
    signer,
    dataDir: folder,
    checkpointDir: folder,
    onUnavailable,
    onCheckpointFailure: () => expect.unreachable(),
    onCorruption: () => expect.unreachable(),
  })
  onTestFinished(() => audit.close())
  isAway = true
  expect(await audit.check()).toBe(false)
  expect(onUnavailable).toHaveBeenCalledOnce()
  const work = vi.fn(async () => {})
  audit.onceHealthy(work)
  vi.advanceTimersByTime(1000)
  expect(await audit.check()).toBe(false)
  expect(work).not.toHaveBeenCalled()

  isAway = false
  vi.advanceTimersByTime(1000)
  await waitUntil(() => audit.isHealthy)
  expect(work).toHaveBeenCalledOnce()
})
