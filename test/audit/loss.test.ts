import { createSecretKey } from 'node:crypto'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createAcknowledgedFile, listAcknowledged } from '../../src/audit/acknowledged-file.ts'
import { openAuditLog } from '../../src/audit/audit-log.ts'
import type { Loss } from '../../src/audit/loss-table.ts'
import { acceptLoss, findLoss } from '../../src/audit/losses.ts'
import { toPublicKey } from '../../src/audit/open-checkpoint.ts'
import { EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { createSigner } from '../../src/audit/signing.ts'
import { readStatement } from '../../src/audit/verify/verify-checkpoints.ts'
import { openStore, type Store } from '../../src/context/store.ts'
import { endOf, toMonth } from '../../src/ledger/audit-months.ts'
import { createTestDatabase, execute, hasPostgres } from '../postgres.ts'
import { newDataDir, type Settings, tabbat } from '../process/tabbat.ts'

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
  readonly dataDir: string
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
  return { store, dataDir, found, open }
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
    const openError = () => open().then(String, String)
    // The first attempts may meet connections that the failover has closed.
    if (isRestarted) await expect.poll(openError).toContain('rows 8 to 10')
    else await expect(audit.record([toEntry(11)])).rejects.toThrow('audit log cannot be written')
    const lost = { kept: 7, acknowledged: 10, references: [8, 9, 10].map(toReference) }
    await expect.poll(() => found).toMatchObject([lost])
    if (!isRestarted) expect(() => audit.requireHealthy()).toThrow('audit log cannot be written')
    expect(await store.losses.list('open')).toMatchObject([lost])

    await store.losses.accept(found[0] as Loss, Date.now())
    if (isRestarted) audit = await open()
    else
      await expect
        .poll(() =>
          audit.record([toEntry(12)]).then(
            () => true,
            () => false,
          ),
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
      .poll(() =>
        audit.record([toEntry(7)]).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true)
    expect(found).toHaveLength(1)
    expect(await listStatements(url)).toMatchObject([
      { kept: 3, acknowledged: 5, references: [4, 5].map(toReference), by: 'the test' },
    ])
    await audit.close()
  },
)

it.skipIf(!hasPostgres())(
  'rows of another node between its own are kept, however many this node did not write',
  async () => {
    const url = await createTestDatabase()
    const { store } = await createNode(url)
    const dataDir = newDataDir()
    const file = createAcknowledgedFile(dataDir, 'node-1')
    const rows = linkEntries(
      'node-1',
      EMPTY_HEAD,
      Array.from({ length: 10 }, (_row, index) => toEntry(index + 1)),
    )
    // This node wrote rows 1 to 3 and 8 to 10, another one wrote those between.
    file.add(rows.filter(({ sequence }) => sequence <= 3 || sequence >= 8))
    await file.flush()
    const lost = { acknowledged: 10, references: [8, 9, 10].map(toReference) }
    await store.audit.append({ rows: store.audit.packRows(rows.slice(0, 6)) })
    expect(await findLoss(store.audit, dataDir, 'node-1')).toMatchObject({ ...lost, kept: 6 })
    // Another process has extended the chain since, with rows of its own.
    const others = linkEntries('node-1', rows[5] ?? EMPTY_HEAD, [7, 8, 9].map(toEntry))
    await store.audit.append({ rows: store.audit.packRows(others) })
    expect(await findLoss(store.audit, dataDir, 'node-1')).toMatchObject({ ...lost, kept: 7 })
  },
)

it.skipIf(!hasPostgres())(
  'a loss at the end of a month is found from the chain of the next one',
  async () => {
    const url = await createTestDatabase()
    const { store, found, open } = await createNode(url)
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const start = endOf(toMonth(Date.now()))
    vi.setSystemTime(start - 1000)
    const audit = await open()
    for (const number of [1, 2, 3]) await audit.record([toEntry(number)])
    vi.setSystemTime(start + 1)
    await audit.record([toEntry(4)])
    const [before, after] = (await store.audit.chains()).map(({ chain }) => chain)
    await failOver(url, 0)
    await expect(audit.record([toEntry(5)])).rejects.toThrow('audit log cannot be written')
    const listOpen = async () =>
      (await store.losses.list('open')).map(({ chain, references }) => [chain, references])
    await expect.poll(listOpen).toEqual([
      [before, [1, 2, 3].map(toReference)],
      [after, [toReference(4)]],
    ])
    for (const loss of found) await store.losses.accept(loss, Date.now())
    const isRecorded = () =>
      audit.record([toEntry(6)]).then(
        () => true,
        () => false,
      )
    await expect.poll(isRecorded).toBe(true)
    await audit.close()
  },
)

it.skipIf(!hasPostgres())('what was acknowledged on a retired chain is forgotten at a start', async () => {
  const { store, open, dataDir } = await createNode(await createTestDatabase())
  const audit = await open()
  await audit.record([toEntry(1)])
  await audit.close()
  const [{ chain = '', beatAt = 0 } = {}] = await store.audit.chains()
  expect(await listAcknowledged(dataDir)).toEqual([chain])
  await store.audit.retire([chain], beatAt + 1, beatAt + 1)
  await (await open()).close()
  expect(await listAcknowledged(dataDir)).toEqual([])
})

it.skipIf(!hasPostgres())('a loss that turns out larger than what was accepted is open again', async () => {
  const url = await createTestDatabase()
  const { store } = await createNode(url)
  const signed = { chain: 'node-1', kept: 7, acknowledged: 9, references: [] }
  const larger = { ...signed, acknowledged: 10, references: [8, 9, 10].map(toReference) }
  await store.losses.insert(signed, 1)
  // It grew after the operator had read it.
  await store.losses.insert(larger, 2)
  await store.losses.accept(signed, 3)
  expect(await store.losses.list('open')).toEqual([larger])
  await store.losses.accept(larger, 4)
  expect(await store.losses.list('open')).toEqual([])
  // What is known is not opened again.
  await store.losses.insert(signed, 5)
  expect([await store.losses.isAccepted(signed), await store.losses.list('open')]).toEqual([true, []])

  const largest = { ...larger, acknowledged: 12, references: [8, 9, 10, 11, 12].map(toReference) }
  expect(await store.losses.isAccepted(largest)).toBe(false)
  await store.losses.insert(largest, 6)
  expect(await store.losses.list('open')).toEqual([largest])
})

it.skipIf(!hasPostgres())('tabbat audit accept-loss writes a signed statement', async () => {
  const url = await createTestDatabase()
  const settings = { TABBAT_DATABASE_URL: url, TABBAT_DATA_DIR: newDataDir() }
  expect((await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'test')).code).toBe(0)
  await failOver(url, 0)
  const blocked = await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'test')
  expect([blocked.code, blocked.stderr]).toEqual([1, expect.stringContaining('tabbat audit accept-loss')])
  await expectLossShown(settings)
  const refused = await tabbat(settings, 'audit', 'accept-loss')
  expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('missing, after row 0')])
  expect(refused.stderr).toContain('--yes')
  const accepted = await tabbat(settings, 'audit', 'accept-loss', '--yes', '--json')
  expect([accepted.code, accepted.stderr]).toEqual([0, expect.any(String)])
  expect(JSON.parse(accepted.stdout)).toMatchObject({ accepted: [{ kept: 0 }] })
  expect((await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'test')).code).toBe(0)
  expect((await tabbat(settings, 'audit', 'accept-loss', '--yes')).stderr).toContain('No loss is known')
  expect(await readAuditRows(settings)).toMatch(/^ok/)
  const checked = await tabbat(settings, 'audit', 'verify', '--checkpoints', settings.TABBAT_DATA_DIR)
  expect(checked.stdout).toContain('No difference was found')
  expect(checked.stdout).toMatch(/^Lost and recorded at .* by \S+ \(cli\): rows 1 to 1 of chain/m)
  const [statement] = await execute(url, "SELECT detail FROM audit WHERE phase = 'log_shortened'")
  expect(statement?.detail).toMatch(/^\{"chain":.*"by":"\S+ \(cli\)"\} [\w+/]{86}==$/)
})

/** What doctor says of the audit rows. */
async function readAuditRows(settings: Settings): Promise<string> {
  const { code, stdout } = await tabbat(settings, 'doctor', '--json')
  const { checks } = JSON.parse(stdout) as { checks: { check: string; status: string; text: string }[] }
  const { status, text } = checks.find(({ check }) => check === 'audit rows') ?? {}
  expect(code === 1 || status !== 'failed').toBe(true)
  return `${status}: ${text}`
}

async function expectLossShown(settings: Settings): Promise<void> {
  const lost = /rows 1 to 1.*tabbat audit accept-loss/
  expect(await readAuditRows(settings)).toMatch(new RegExp(`^failed: .*${lost.source}`))
  const elsewhere = {
    ...settings,
    TABBAT_DATA_DIR: newDataDir(),
    TABBAT_ROOT_KEY_FILE: `${settings.TABBAT_DATA_DIR}/root.key`,
  }
  // On a machine without the files of the node, the table of losses says it.
  expect(await readAuditRows(elsewhere)).toMatch(new RegExp(`^failed: .*${lost.source}`))
  for (const args of [[], ['--json'], ['--checkpoints', settings.TABBAT_DATA_DIR ?? '']]) {
    const { code, stdout } = await tabbat(settings, 'audit', 'verify', ...args)
    expect([code, stdout]).toEqual([1, expect.stringMatching(lost)])
  }
}

it.skipIf(!hasPostgres())('a loss that no server has noticed yet is found by doctor', async () => {
  const url = await createTestDatabase()
  const settings = { TABBAT_DATABASE_URL: url, TABBAT_DATA_DIR: newDataDir() }
  await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'test')
  expect(await readAuditRows(settings)).toMatch(/^ok/)
  await failOver(url, 0)
  expect(await readAuditRows(settings)).toMatch(/^failed: .*rows 1 to 1/)
  expect(await execute(url, 'SELECT * FROM audit_losses')).toEqual([])
})
