import { createSecretKey } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { openAuditLog } from '../../src/audit/audit-log.ts'
import { createSigner } from '../../src/audit/signing.ts'
import { openStore } from '../../src/context/store.ts'
import { newFolder } from '../engines.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

/** A proxy to the server that can lose an answer of the server. */
async function openProxy(url: string) {
  const { port } = new URL(url)
  let isCut = false
  const proxy = createServer((near) => {
    const far = connect(Number(port), '127.0.0.1')
    near.on('data', (bytes) => far.write(bytes))
    far.on('data', (bytes) => {
      if (!isCut) return void near.write(bytes)
      isCut = false
      near.destroy()
      far.destroy()
    })
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on('close', () => other.destroy()).on('error', () => {})
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => void proxy.close())
  return {
    url: Object.assign(new URL(url), { port: String((proxy.address() as AddressInfo).port) }).href,
    loseNextAnswer: () => {
      isCut = true
    },
  }
}

const ENTRY = { phase: 'outcome' as const, request_reference: 'ver_a', outcome: 'verified' }

it.skipIf(!hasPostgres())(
  'a commit whose confirmation was lost is looked up, and acknowledged if it exists',
  async () => {
    const { url, loseNextAnswer } = await openProxy(await createTestDatabase())
    const folder = newFolder()
    const store = await openStore({ dataDir: folder, databaseUrl: url, writerThread: true })
    const failures: unknown[] = []
    const audit = await openAuditLog({
      table: store.audit,
      signer: createSigner(createSecretKey(Buffer.alloc(32, 42))),
      dataDir: folder,
      checkpointDir: folder,
      onUnavailable: (error) => failures.push(error),
      onCheckpointFailure: (error) => failures.push(error),
      onCorruption: (error) => failures.push(error),
    })
    await audit.record([ENTRY])
    loseNextAnswer()
    await audit.record([{ ...ENTRY, request_reference: 'ver_b' }])
    await audit.record([{ ...ENTRY, request_reference: 'ver_c' }])
    expect(failures).toEqual([])
    for (const reference of ['ver_a', 'ver_b', 'ver_c'])
      expect(await store.audit.byReference(reference)).toHaveLength(1)
    await audit.close()
    await store.close()
  },
)

it('a caller does not wait for a database that was silent for the whole timeout', async () => {
  const folder = newFolder()
  const store = await openStore({ dataDir: folder, databaseUrl: undefined, writerThread: false })
  let isSilent = false
  const table = {
    ...store.audit,
    append: (...args: Parameters<typeof store.audit.append>) =>
      isSilent ? Promise.reject(new Error('Query read timeout')) : store.audit.append(...args),
    find: () => new Promise<never>(() => {}),
  }
  const failures: unknown[] = []
  const audit = await openAuditLog({
    table,
    signer: createSigner(createSecretKey(Buffer.alloc(32, 42))),
    dataDir: folder,
    checkpointDir: folder,
    onUnavailable: (error) => failures.push(error),
    onCheckpointFailure: (error) => failures.push(error),
    onCorruption: (error) => failures.push(error),
  })
  await audit.record([ENTRY])
  isSilent = true
  await expect(audit.record([{ ...ENTRY, request_reference: 'ver_b' }])).rejects.toMatchObject({
    code: 'audit_unavailable',
  })
  expect(failures).toHaveLength(1)
  await store.close()
})
