import { setImmediate as turn } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { openAuditLog } from '../../src/audit/audit-log.ts'
import { openStore } from '../../src/context/store.ts'
import { newFolder } from '../engines.ts'
import { signer } from './old-log.ts'

it('work that waits for the log is called by the probe that finds it writable again', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const folder = newFolder()
  const store = await openStore({ dataDir: folder, databaseUrl: undefined, writerThread: false })
  onTestFinished(() => store.close())
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
  // expect.poll would let the clock go on.
  while (!audit.isHealthy) await turn()
  expect(work).toHaveBeenCalledOnce()
})
