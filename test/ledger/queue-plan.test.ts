import { randomBytes, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import type { QueueChange, QueueRefusal } from '../../src/ledger/queue-rows.ts'
import { describeEngines, POSTGRES, SQLITE } from '../engines.ts'

/** A row before the changes. `over`: the lease has ended, and no other process has taken the row yet. */
type Before = {
  readonly lineage: string
  readonly is: 'waiting' | 'running' | 'over' | 'ended'
  readonly lease: string
}
type Wish = {
  readonly kind: 'finish' | 'retry' | 'cancel' | 'enqueue'
  readonly row: number
  readonly lease: string
  readonly lineage: string
}
type Model = {
  lineage: string
  isAdded?: boolean
  isOpen: boolean
  lease: string | undefined
  isOver: boolean
  state: string
}

const LINEAGES = ['lineage1', 'lineage2'] as const
const LEASES = ['node:1', 'node:2'] as const
const MINUTE = 60_000

const before: fc.Arbitrary<Before> = fc.record({
  lineage: fc.constantFrom(...LINEAGES),
  is: fc.constantFrom('waiting', 'running', 'over', 'ended'),
  lease: fc.constantFrom(...LEASES),
})
const wish: fc.Arbitrary<Wish> = fc.record({
  kind: fc.constantFrom('finish', 'retry', 'cancel', 'enqueue'),
  row: fc.nat(2),
  lease: fc.constantFrom(...LEASES),
  lineage: fc.constantFrom(...LINEAGES),
})

/** What one change does, by the words of the documentation: nothing before it in its commit is known here. */
function applyOne(
  model: Model[],
  { kind, row, lease, lineage }: Wish,
  limits: { perKey: number; all: number },
) {
  const open = model.filter(({ isOpen }) => isOpen)
  if (kind === 'enqueue') {
    const isFull =
      open.length >= limits.all || open.filter((each) => each.lineage === lineage).length >= limits.perKey
    if (!isFull)
      model.push({ lineage, isOpen: true, isAdded: true, lease: undefined, isOver: false, state: 'pending' })
    return isFull ? 'queue_full' : undefined
  }
  const found = model[row]
  if (!found?.isOpen || found.isAdded) return 'lease_lost'
  const isAllowed =
    kind === 'cancel'
      ? found.lineage === lineage && (found.lease === undefined || found.isOver)
      : found.lease === lease
  if (!isAllowed) return 'lease_lost'
  Object.assign(found, { lease: undefined, isOver: false })
  if (kind !== 'retry')
    Object.assign(found, { isOpen: false, state: kind === 'cancel' ? 'cancelled' : 'answered' })
  return undefined
}

describeEngines([SQLITE, POSTGRES], (engine) => {
  let store: Store
  beforeAll(async () => {
    store = await (await engine.createPlace()).open()
  })
  afterAll(() => store.close())

  const toRow = (reference: string, lineage: string) => ({
    ...({ lane: 'single', mode: 'live', operation: 'verify_nin', keyId: 'key00001' } as const),
    ...{
      reference,
      lineage,
      subject: randomBytes(32),
      question: randomBytes(20),
      delayMs: 0,
      lifeMs: DAY_MS,
    },
  })
  const write = async (changes: readonly QueueChange[]) =>
    (
      await store.audit.append(
        { rows: store.audit.packRows([]) },
        {
          now: Date.now(),
          changes: changes.map((each, index) => [index, each] as const),
        },
      )
    ).refused as readonly (readonly [number, QueueRefusal])[]
  const NO_LIMITS = { perKey: 1000, all: 1000 }

  const begin = async (rows: readonly Before[]) => {
    for (const table of ['queued_verifications', 'queue_counts'])
      await store.database.prepare(`DELETE FROM ${table}`).run()
    const references = rows.map(() => `ver_${randomUUID()}`)
    await write(
      rows.map(({ lineage }, index) => ({
        ...{ kind: 'enqueue', row: toRow(references[index] ?? '', lineage), limits: NO_LIMITS },
      })),
    )
    for (const [index, { is, lease }] of rows.entries()) {
      if (is === 'waiting') continue
      const dueIn = is === 'over' ? -MINUTE : MINUTE
      await store.database
        .prepare('UPDATE queued_verifications SET lease = $2, due_at = due_at + $3 WHERE reference = $1')
        .run(references[index] ?? '', lease, dueIn)
      if (is === 'ended')
        await write([toChange({ kind: 'finish', row: index, lease, lineage: '' }, references)])
    }
    return references
  }
  const toChange = (
    { kind, row, lease, lineage }: Wish,
    references: readonly string[],
    limits = NO_LIMITS,
  ): QueueChange => {
    const reference = references[row] ?? 'ver_unknown'
    if (kind === 'enqueue') return { kind, row: toRow(`ver_${randomUUID()}`, lineage), limits }
    if (kind === 'cancel') return { kind, reference, lineage, keepMs: DAY_MS }
    if (kind === 'retry') return { kind, reference, lease, delayMs: MINUTE, isAttempt: true }
    const answer = {
      state: 'answered',
      outcome: 'verified',
      answer: Buffer.of(1),
      stored: undefined,
    } as const
    return { kind, reference, lease, keepMs: DAY_MS, ...answer }
  }

  it('changes in one commit do what they do one after another', async () => {
    const limits = fc.record({ perKey: fc.integer({ min: 1, max: 4 }), all: fc.integer({ min: 1, max: 5 }) })
    await fc.assert(
      fc.asyncProperty(
        fc.array(before, { minLength: 1, maxLength: 3 }),
        fc.array(wish, { minLength: 1, maxLength: 8 }),
        limits,
        async (rows, wishes, limits) => {
          const references = await begin(rows)
          const model = rows.map(
            ({ lineage, is, lease }): Model => ({
              ...{ lineage, isOpen: is !== 'ended', isOver: is === 'over' },
              lease: is === 'waiting' || is === 'ended' ? undefined : lease,
              state: is === 'ended' ? 'answered' : 'pending',
            }),
          )
          const expected = wishes.flatMap((each, position) => {
            const refusal = applyOne(model, each, limits)
            return refusal ? [[position, refusal] as const] : []
          })
          const changes = wishes.map((each) => toChange(each, references, limits))
          const refused = await write(changes)
          expect(refused).toEqual(expected)
          // As the audit log does: the others are written without those that were refused.
          const positions = new Set(refused.map(([position]) => position))
          if (refused.length > 0)
            expect(await write(changes.filter((_each, position) => !positions.has(position)))).toEqual([])
          const states = await store.database
            .prepare('SELECT reference, state, lease FROM queued_verifications')
            .all()
          const found = references.map((reference) => states.find((row) => row.reference === reference))
          expect(found.map((row) => [row?.state, row?.lease])).toEqual(
            model.slice(0, rows.length).map(({ state, lease }) => [state, lease ?? null]),
          )
          expect(states).toHaveLength(model.length)
          const pending = (await store.queue.countPending()).reduce((sum, each) => sum + each.pending, 0)
          expect(pending).toBe(model.filter(({ isOpen }) => isOpen).length)
        },
      ),
      { numRuns: engine === POSTGRES ? 40 : 150 },
    )
  })
})
