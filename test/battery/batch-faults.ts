import { setTimeout as pause } from 'node:timers/promises'
import type { Store } from '../../src/context/store.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import type { Received } from '../webhooks/receiver.ts'

/** A batch that was sent. It has an id when its 202 has arrived. */
export type SentBatch = { readonly index: number; id: string | undefined }

type Evidence = {
  readonly sent: readonly SentBatch[]
  /** Calls of the vendor by number. */
  readonly calls: ReadonlyMap<string, number>
  readonly received: readonly Received[]
  readonly store: Store
  readonly read: (path: string) => Promise<Response>
}

type View = {
  readonly rows: number
  readonly ended_at: string | null
  readonly counts: Readonly<Record<string, number>>
}
type Result = { readonly line: number; readonly reference: string; readonly state: string }

export const BATCHES_URL = '/api/v2/kyc/batches'
export const ROWS = 110
/** Each eleventh row is refused. */
export const GOOD_ROWS = 100
const PAID_CALLS = 2
const MAX_WAIT_MS = 100_000

const isGood = (row: number) => row % 11 !== 0
export const ninOf = (batch: number, row: number) =>
  `6${String(batch).padStart(4, '0')}${String(row).padStart(6, '0')}`

export const bodyOf = (batch: number): string =>
  Array.from({ length: ROWS }, (_, row) => {
    const nin = ninOf(batch, row)
    const good = { nin, phone: `0${toPhoneCoreOf(nin)}` }
    return JSON.stringify({ operation: 'verify_nin', reference: nin, ...(isGood(row) ? good : { nin: '1' }) })
  }).join('\n')

/** Waits for the end of all batches, and compares what callers, vendor, receiver and audit log saw. */
export async function findBatchFaults(evidence: Evidence): Promise<string[]> {
  const faults: string[] = []
  const until = performance.now() + MAX_WAIT_MS
  for (const batch of evidence.sent) {
    if (batch.id === undefined) faults.push(`batch ${batch.index} was never accepted`)
    else faults.push(...(await checkBatch(evidence, batch.id, batch.index, until)))
  }
  const { database } = evidence.store
  const count = `SELECT (SELECT COUNT(*) FROM batches WHERE accepted_at IS NOT NULL) AS batches,
    (SELECT COUNT(*) FROM batches WHERE ended_at IS NULL) AS open,
    (SELECT COALESCE(SUM(pending), 0) FROM queue_counts WHERE lane = 'batch') AS pending,
    (SELECT COALESCE(MAX(paid_calls), 0) FROM queued_verifications) AS most`
  const row = await database.prepare(count).get()
  if (Number(row?.batches) !== evidence.sent.length) faults.push(`${row?.batches} batches were accepted`)
  if (Number(row?.open) !== 0) faults.push(`${row?.open} batches have not ended`)
  if (Number(row?.pending) !== 0) faults.push(`${row?.pending} rows are counted as pending`)
  if (Number(row?.most) > PAID_CALLS) faults.push(`a row is counted with ${row?.most} paid calls`)
  return faults
}

async function checkBatch(evidence: Evidence, id: string, index: number, until: number): Promise<string[]> {
  const { received, store, read } = evidence
  const faults: string[] = []
  const find = async () => ((await (await read(`${BATCHES_URL}/${id}`)).json()) as { data: View }).data
  let view = await find()
  for (; view.ended_at === null && performance.now() < until; view = await find()) await pause(50)
  const total = Object.values(view.counts).reduce((sum, each) => sum + each, 0)
  if (view.ended_at === null || view.rows !== ROWS || total !== ROWS || view.counts.waiting !== 0)
    faults.push(`counts ${JSON.stringify(view)}`)

  const text = await (await read(`${BATCHES_URL}/${id}/results`)).text()
  const results = text.split('\n').filter((line) => line !== '')
  faults.push(...checkResults(evidence, index, results), ...(await checkOutcomes(store, id)))

  const told = () => received.filter(({ body }) => JSON.parse(body).data.reference === id)
  while (told().length === 0 && performance.now() < until) await pause(50)
  const events = new Set(told().map(({ headers }) => headers['webhook-id']))
  if (events.size !== 1) faults.push(`${events.size} events of its end`)
  return faults.map((fault) => `batch ${index}: ${fault}`)
}

/** The results are in the order of the rows. */
function checkResults({ calls }: Evidence, index: number, lines: readonly string[]): string[] {
  const faults = lines.flatMap((line, row) => {
    const nin = ninOf(index, row)
    return checkResult(JSON.parse(line), row, nin, calls.get(nin) ?? 0)
  })
  return lines.length === ROWS ? faults : [...faults, `${lines.length} results`]
}

/** The result is of this row, which was asked as often as it may be. */
function checkResult({ line, reference, state }: Result, row: number, nin: string, asked: number): string[] {
  const faults: string[] = []
  const wanted = isGood(row) ? ['done', 'expired'] : ['refused']
  if (line !== row + 1 || !wanted.includes(state)) faults.push(`row ${row} is ${line} ${state}`)
  if (isGood(row) && reference !== nin) faults.push(`row ${row} has the reference of another`)
  if (asked > PAID_CALLS) faults.push(`row ${row} made ${asked} paid calls`)
  if (state === 'done' && asked === 0) faults.push(`row ${row} was not asked`)
  return faults
}

/** Each row of the batch has one outcome in the audit log. */
async function checkOutcomes(store: Store, id: string): Promise<string[]> {
  const rows = await store.database
    .prepare('SELECT line, reference FROM batch_rows WHERE batch = $1 AND refusals IS NULL')
    .all(id)
  const faults = rows.length === GOOD_ROWS ? [] : [`${rows.length} rows were accepted`]
  for (const { line, reference } of rows) {
    const found = await store.audit.byReference(String(reference))
    const outcomes = found.filter(({ phase }) => phase === 'outcome').map(({ outcome }) => outcome)
    if (outcomes.length !== 1) faults.push(`line ${line} has the outcomes [${outcomes.join()}]`)
  }
  return faults
}
