import { createSecretKey } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { openAuditLog } from '../../src/audit/audit-log.ts'
import { createSigner } from '../../src/audit/signing.ts'
import { openStore } from '../../src/store/store.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { newFolder } from '../store/engines.ts'

/** A way to the server on which an answer can be lost after the server has given it. */
async function openPassage(url: string) {
  const { port } = new URL(url)
  let isCut = false
  const passage = createServer((near) => {
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
  await once(passage, 'listening')
  onTestFinished(() => void passage.close())
  return {
    url: Object.assign(new URL(url), { port: String((passage.address() as AddressInfo).port) }).href,
    loseNextAnswer: () => {
      isCut = true
    },
  }
}

const ENTRY = { phase: 'outcome' as const, request_reference: 'ver_a', outcome: 'verified' }

it.skipIf(!hasPostgres())(
  'a commit whose answer was lost is looked up, and acknowledged if it is there',
  async () => {
    const { url, loseNextAnswer } = await openPassage(await createTestDatabase())
    const folder = newFolder()
    const store = await openStore({ dataDir: folder, databaseUrl: url, writerThread: true })
    const troubles: unknown[] = []
    const audit = await openAuditLog({
      table: store.audit,
      signer: createSigner(createSecretKey(Buffer.alloc(32, 42))),
      dataDir: folder,
      checkpointDir: folder,
      onTrouble: (error) => troubles.push(error),
      onCheckpointFailure: (error) => troubles.push(error),
      onCorruption: (error) => troubles.push(error),
    })
    await audit.record([ENTRY])
    loseNextAnswer()
    await audit.record([{ ...ENTRY, request_reference: 'ver_b' }])
    await audit.record([{ ...ENTRY, request_reference: 'ver_c' }])
    expect(troubles).toEqual([])
    for (const reference of ['ver_a', 'ver_b', 'ver_c'])
      expect(await store.audit.byReference(reference)).toHaveLength(1)
    await audit.close()
    await store.close()
  },
)
