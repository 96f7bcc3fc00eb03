import { createSecretKey } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { openAuditLog } from '../../src/audit/audit-log.ts'
import { acceptLoss } from '../../src/audit/loss-statement.ts'
import { toPublicKey } from '../../src/audit/open-checkpoint.ts'
import { createSigner } from '../../src/audit/signing.ts'
import { readStatement } from '../../src/audit/verify-losses.ts'
import type { Loss } from '../../src/store/loss-table.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { createTestDatabase, execute, hasPostgres } from '../postgres.ts'
import { newDataDir, tabbat } from '../process/tabbat.ts'

const signer = createSigner(createSecretKey(Buffer.alloc(32, 42)))
const toReference = (number: number) => `ver_${String(number).padStart(36, '0')}`
const toEntry = (number: number) => ({
  phase: 'outcome' as const,
  request_reference: toReference(number),
  outcome: 'verified',
})

/** As if an asynchronous standby without the last rows became the primary. */
async function failOver(url: string, after: number): Promise<void> {
  await execute(
    url,
    'ALTER TABLE audit DISABLE TRIGGER ALL',
    `DELETE FROM audit WHERE sequence > ${after}`,
    'ALTER TABLE audit ENABLE TRIGGER ALL',
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )
}

type Node = {
  readonly store: Store
  readonly found: Loss[]
  readonly open: () => ReturnType<typeof openAuditLog>
}

async function createNode(url: string, isRecorded = false): Promise<Node> {
  const dataDir = newDataDir()
  const store = await openStore({ dataDir, databaseUrl: url, writerThread: true })
  onTestFinished(() => store.close())
  const found: Loss[] = []
  const losses = {
    losses: store.losses,
    isRecorded,
    by: 'the test',
    onLoss: (loss: Loss) => found.push(loss),
  }
  const nothing = () => {}
  const handlers = { onUnavailable: nothing, onCheckpointFailure: nothing, onCorruption: nothing }
  const open = () =>
    openAuditLog({ table: store.audit, signer, dataDir, checkpointDir: dataDir, losses, ...handlers })
  return { store, found, open }
}

const publicKey = toPublicKey(signer.publicKey, 'The key')

it('accepts as the statement of a loss only what was signed as one, at the signed time', async () => {
  const loss = { chain: 'a1b2c3d4-1', kept: 7, acknowledged: 10, references: [toReference(8)] }
  const details: unknown[] = []
  const record = async (entries: readonly { readonly detail?: string | null }[]) => {
    details.push(...entries.map(({ detail }) => detail))
  }
  const before = new Date().toISOString()
  await acceptLoss(loss, { losses: { accept: async () => {} }, signer, record, by: 'ada' })
  const stated = readStatement(String(details[0]), publicKey)
  expect(stated).toMatchObject({ ...loss, by: 'ada' })
  expect(stated && stated.time >= before).toBe(true)

  const checkpoint = JSON.stringify({ version: 1, time: before, heads: [] })
  const numbers = JSON.stringify({ ...stated, acknowledged: 7 })
  for (const text of [checkpoint, numbers, 'null', 'no JSON', ''])
    expect(readStatement(`${text} ${signer.sign(text)}`, publicKey)).toBeUndefined()
  expect(readStatement(`${details[0]}=`, publicKey)).toBeUndefined()
})

const listStatements = async (url: string) =>
  (await execute(url, "SELECT detail FROM audit WHERE phase = 'log_shortened'")).map(({ detail }) =>
    readStatement(String(detail), publicKey),
  )

it.skipIf(!hasPostgres()).for([[true], [false]] as const)(
  'acknowledged rows that a failover lost are found and named, and accepted by an operator (restart: %s)',
  async ([isRestarted]) => {
    const url = await createTestDatabase()
    const { store, found, open } = await createNode(url)
    let audit = await open()
    for (let number = 1; number <= 10; number += 1) await audit.record([toEntry(number)])
    if (isRestarted) await audit.close()
    await failOver(url, 7)
    if (isRestarted) await expect(open()).rejects.toThrow('rows 8 to 10')
    else await expect(audit.record([toEntry(11)])).rejects.toThrow('audit log cannot be written')
    const lost = { kept: 7, acknowledged: 10, references: [8, 9, 10].map(toReference) }
    await expect.poll(() => found, { timeout: 10_000 }).toMatchObject([lost])
    if (!isRestarted) expect(() => audit.requireHealthy()).toThrow('audit log cannot be written')
    expect(await store.losses.list('open')).toMatchObject([lost])

    await store.losses.accept({ chain: found[0]?.chain ?? '', kept: 7 }, Date.now())
    if (isRestarted) audit = await open()
    else
      await expect
        .poll(
          () =>
            audit.record([toEntry(12)]).then(
              () => true,
              () => false,
            ),
          { timeout: 10_000 },
        )
        .toBe(true)
    await audit.record([toEntry(13)])
    expect(await store.audit.byReference(toReference(13))).toHaveLength(1)
    // The shortened chain is not extended.
    expect((await store.audit.head(found[0]?.chain ?? ''))?.sequence).toBe(7)
    await audit.close()
  },
)

it.skipIf(!hasPostgres())(
  'with TABBAT_LOST_ROWS=record the server states the loss and continues',
  async () => {
    const url = await createTestDatabase()
    const { found, open } = await createNode(url, true)
    const audit = await open()
    for (let number = 1; number <= 5; number += 1) await audit.record([toEntry(number)])
    await failOver(url, 3)
    await expect(audit.record([toEntry(6)])).rejects.toThrow('audit log cannot be written')
    await expect
      .poll(
        () =>
          audit.record([toEntry(7)]).then(
            () => true,
            () => false,
          ),
        { timeout: 10_000 },
      )
      .toBe(true)
    expect(found).toHaveLength(1)
    expect(await listStatements(url)).toMatchObject([
      { kept: 3, acknowledged: 5, references: [4, 5].map(toReference), by: 'the test' },
    ])
    await audit.close()
  },
)

it.skipIf(!hasPostgres())('tabbat audit accept-loss writes a signed statement', async () => {
  const url = await createTestDatabase()
  const settings = { TABBAT_DATABASE_URL: url, TABBAT_DATA_DIR: newDataDir() }
  expect((await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'test')).code).toBe(0)
  await failOver(url, 0)
  const blocked = await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'test')
  expect([blocked.code, blocked.stderr]).toEqual([1, expect.stringContaining('tabbat audit accept-loss')])
  const refused = await tabbat(settings, 'audit', 'accept-loss')
  expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('missing, after row 0')])
  expect(refused.stderr).toContain('--yes')
  const accepted = await tabbat(settings, 'audit', 'accept-loss', '--yes', '--json')
  expect([accepted.code, accepted.stderr]).toEqual([0, expect.any(String)])
  expect(JSON.parse(accepted.stdout)).toMatchObject({ accepted: [{ kept: 0 }] })
  expect((await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'test')).code).toBe(0)
  expect((await tabbat(settings, 'audit', 'accept-loss', '--yes')).stderr).toContain('No loss is known')
  const checked = await tabbat(settings, 'audit', 'verify', '--checkpoints', settings.TABBAT_DATA_DIR)
  expect(checked.stdout).toContain('No difference was found')
  expect(checked.stdout).toMatch(/^Lost and recorded at .* by command line: rows 1 to 1 of chain/m)
  const [statement] = await execute(url, "SELECT detail FROM audit WHERE phase = 'log_shortened'")
  expect(statement?.detail).toMatch(/^\{"chain":.*"by":"command line"\} [\w+/]{86}==$/)
})
