import type { WholeLog } from '../audit/archive/whole-log.ts'
import type { ArchiveTable } from '../audit/archive-table.ts'
import type { AuditTable } from '../audit/audit-table.ts'
import { openRowLabel } from '../batches/seal-row.ts'
import { isVirtualNin } from '../contract/person.ts'
import type { PersonReport } from '../contract/person-report.ts'
import { HIDDEN } from '../contract/record.ts'
import { steadyNow, toIsoTime } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { type Kind, toBlindIndex } from '../crypto/mac.ts'
import { BrokenSeal } from '../crypto/seal.ts'
import { type KeyNames, openKeyNames } from '../keys/key-names.ts'
import type { KeyTable } from '../keys/key-table.ts'
import type { LoggedRow } from '../ledger/audit-row.ts'
import type { Registry } from '../registry/registry.ts'
import { openStoredResponse, type StoredResponse } from '../verification/idempotency.ts'
import { openAnswer, openQuestion } from '../verification/queue/sealed-question.ts'
import { openReused } from '../verification/reuse.ts'
import { findUnnamed } from './erase-person.ts'
import type { ErasureTable } from './erasure-table.ts'
import { readAllParts } from './kept-answers.ts'
import type { KeptAnswer, PersonTable } from './person-table.ts'
import { foldRequests, isOfVerification } from './recorded-requests.ts'

type Asked = {
  readonly kind: Kind
  /** Of a person, validated; may be a virtual NIN. */
  readonly number: string
  readonly reason: string
  readonly by: string
  /** Without them, the report tells which fields are filled. */
  readonly withValues: boolean
  readonly isDemo: boolean
  /** The letterhead. */
  readonly organisation: readonly string[]
  /** Where the audit log was not searched. */
  readonly limits: readonly string[]
}

/** Audit rows in one report. A person has some; a number that a client uses in its tests may have millions. */
const MAX_ROWS = 20_000

/** Reads what is held and recorded about one number. The caller writes the audit row before it discloses the report. */
export async function createPersonReport(deps: HeldDeps, asked: Asked): Promise<PersonReport> {
  const { kind, number, reason, by, withValues, isDemo } = asked
  const subject = toBlindIndex(deps.keyring.subject, kind, number)
  const keys = await openKeyNames(deps.store.keys)
  const held = await readHeld(deps, kind, number, keys)
  const hash = subject.toString('hex')
  const rows = await deps.store.audit.bySubject(hash, MAX_ROWS + 1)
  const erasures = await deps.store.erasure.findTombstones(subject)
  return {
    organisation: [...asked.organisation],
    generated_at: toIsoTime(steadyNow()),
    generated_by: by,
    reason,
    demonstration: isDemo,
    kind,
    number: `*******${number.slice(-4)}`,
    values: withValues ? 'shown' : 'hidden',
    held: withValues ? held : hideHeld(held),
    requests: foldRequests(rows.slice(0, MAX_ROWS), keys.nameOf),
    accesses: rows.filter((row) => !isOfVerification(row)).map((row) => toAccess(row, keys)),
    erased_at: erasures.map(({ erasedAt }) => toIsoTime(erasedAt)),
    limits: [
      ...(rows.length > MAX_ROWS
        ? [`The audit log has more rows about this number: ${MAX_ROWS} of them are in this report.`]
        : []),
      ...asked.limits,
      ...LIMITS[isVirtualNin(number) ? 'vnin' : kind],
      ...COMMON_LIMITS,
    ],
  }
}

const toAccess = (row: LoggedRow, keys: KeyNames): PersonReport['accesses'][number] => ({
  time: row.time,
  what: row.phase,
  key_name: keys.nameOf(row.key_id),
  outcome: row.outcome,
  detail: row.detail,
})

function hideHeld(held: PersonReport['held']): PersonReport['held'] {
  const hide = <T extends { readonly fields: Parameters<typeof hideFields>[0] }>(item: T): T => ({
    ...item,
    fields: hideFields(item.fields),
  })
  return {
    ...held,
    record: held.record && hide(held.record),
    picture: held.picture && { ...held.picture, base64: null },
    kept_answers: held.kept_answers.map(hide),
    queued: held.queued.map(hide),
    batch_rows: held.batch_rows.map((row) => ({ ...row, label: hideValue(row.label) })),
    reused_results: held.reused_results.map(hide),
  }
}

/** What a number does not tell. */
const LIMITS: Readonly<Record<'nin' | 'bvn' | 'vnin', readonly string[]>> = {
  nin: [
    "This report is by NIN. It does not know the person's BVN: verifications of the BVN, and a BVN record that contains this NIN, are found by the BVN only. Make a report by BVN as well.",
    'Verifications with a virtual NIN are recorded under the virtual NIN. Of them, this report has the kept answers in which the vendor returned the NIN.',
  ],
  bvn: [
    "This report is by BVN. Verifications of the person's NIN are found by the NIN only. Make a report by NIN as well; the BVN record may contain the NIN.",
  ],
  vnin: [
    'This report is by virtual NIN. What is held under the NIN behind it, or under another virtual NIN, is found by those only.',
  ],
}

const COMMON_LIMITS: readonly string[] = [
  'Not in this report: backups, copies that callers have stored, and what vendors hold.',
]

type ReportFields = NonNullable<PersonReport['held']['record']>['fields']

/** The values of a record by their dotted names. Links to pictures are left out: a link works without signing in. */
const toReportFields = (record: object, group = ''): ReportFields =>
  Object.entries(record).flatMap(([name, value]: [string, unknown]) => {
    if (name === 'image_url' || value === undefined) return []
    if (typeof value === 'object' && value !== null) return toReportFields(value, `${group}${name}.`)
    return [{ name: `${group}${name}`, value: value === null ? '' : String(value) }]
  })

const hideValue = (value: string) => (value === '' ? '' : HIDDEN)

const hideFields = (fields: ReportFields): ReportFields =>
  fields.map(({ name, value }) => ({ name, value: hideValue(value) }))

/** What a report about a person does not contain, because archives were not searched. */
export const toArchiveLimits = ({ missing, problems, archived }: WholeLog): string[] => [
  ...(missing.length === 0
    ? []
    : [
        `${missing.length} of the archives of the audit log were not searched: what is recorded in them about this number is not in this report. Put them into the folder of TABBAT_AUDIT_ARCHIVE_DIR.`,
      ]),
  ...(archived.isCut()
    ? [
        'The archives of the audit log were not searched completely: it takes too long here. Make the report with: tabbat person report',
      ]
    : []),
  ...new Set(problems),
]

type HeldDeps = {
  readonly store: {
    readonly people: PersonTable
    readonly erasure: ErasureTable
    readonly audit: AuditTable
    readonly keys: KeyTable
    readonly archives: ArchiveTable
  }
  readonly keyring: Keyring
  readonly registry: Pick<Registry, 'find' | 'findPicture'>
}

type Held = PersonReport['held']

/** Everything that is stored about one number, with its values. */
async function readHeld(deps: HeldDeps, kind: Kind, number: string, keys: KeyNames): Promise<Held> {
  const { keyring } = deps
  const { people } = deps.store
  const subject = toBlindIndex(keyring.subject, kind, number)
  return {
    ...(await readRecord(deps, kind, number)),
    kept_answers: (await listKept(deps, kind, subject)).map((kept) => toKept(keyring, keys, kept)),
    queued: (await people.listQueued(subject)).map((queued) => toQueued(keyring, keys, queued)),
    batch_rows: (await people.listBatchRows(subject)).map((row) => toBatchRow(keyring, keys, row)),
    reused_results: await readReused(deps, kind, number),
    failed_matches: await people.countFailures(subject),
  }
}

const PNG_FIRST_BYTE = 0x89

async function readRecord(
  { store, keyring, registry }: HeldDeps,
  kind: Kind,
  number: string,
): Promise<Pick<Held, 'record' | 'picture'>> {
  const entry = isVirtualNin(number) ? undefined : await registry.find(kind, number).catch(toDamaged)
  if (!entry) return { record: null, picture: null }
  const time = await store.people.findRecordTime(toBlindIndex(keyring['blind-index'], kind, number))
  const updated_at = toIsoTime(time ?? 0)
  if (entry === 'damaged') return { record: { updated_at, fields: DAMAGED }, picture: null }
  return {
    record: { updated_at, fields: toReportFields(entry.record) },
    picture: entry.mediaId === null ? null : await readPicture(registry, Buffer.from(entry.mediaId, 'hex')),
  }
}

async function readPicture(registry: HeldDeps['registry'], id: Buffer): Promise<Held['picture']> {
  const picture = await registry.findPicture(id).catch(toDamaged)
  if (!picture) return null
  if (picture === 'damaged') return { media_type: 'cannot be opened', bytes: 0, base64: null }
  const { bytes } = picture
  return {
    media_type: bytes[0] === PNG_FIRST_BYTE ? 'image/png' : 'image/jpeg',
    bytes: bytes.length,
    base64: bytes.toString('base64'),
  }
}

function toDamaged(error: unknown): 'damaged' {
  if (error instanceof BrokenSeal) return 'damaged'
  throw error
}

async function listKept({ store, keyring }: HeldDeps, kind: Kind, subject: Buffer): Promise<KeptAnswer[]> {
  const wanted = subject.toString('hex')
  const unnamed = await findUnnamed(store.erasure.listUnnamed, keyring, kind, (each) => each === wanted)
  const others: KeptAnswer[] = []
  for (const { keyId, operation, name, subject: found } of unnamed) {
    // One that cannot be decrypted may be about another person.
    const kept = found && (await store.people.findKept({ lineage: keyId, operation, name }))
    if (kept) others.push(kept)
  }
  const kept: KeptAnswer[] = []
  await readAllParts(
    (from) => store.people.listKept(subject, from),
    (answers) => void kept.push(...answers),
  )
  return [...kept, ...others]
}

function toKept(keyring: Keyring, keys: KeyNames, kept: KeptAnswer): Held['kept_answers'][number] {
  const response = open(() => openStoredResponse(keyring, kept.name, kept.sealed))
  return {
    ...keys.ofLineage(kept.lineage),
    operation: kept.operation,
    request_reference: response?.reference ?? null,
    outcome: response?.outcome ?? null,
    kept_until: toIsoTime(kept.expiresAt),
    fields: toAnswerFields(response),
  }
}

function toQueued(
  keyring: Keyring,
  keys: KeyNames,
  queued: Awaited<ReturnType<PersonTable['listQueued']>>[number],
): Held['queued'][number] {
  const { reference, question, answer } = queued
  return {
    ...keys.ofKey(queued.keyId),
    mode: queued.mode,
    operation: queued.operation,
    request_reference: reference,
    state: queued.state,
    batch: queued.batch ?? null,
    accepted_at: toIsoTime(queued.acceptedAt),
    kept_until: toIsoTime(queued.expiresAt),
    fields: question
      ? toQuestionFields(open(() => openQuestion(keyring, reference, question)))
      : toAnswerFields(answer ? open(() => openAnswer(keyring, reference, answer)) : undefined),
  }
}

function toBatchRow(
  keyring: Keyring,
  keys: KeyNames,
  row: Awaited<ReturnType<PersonTable['listBatchRows']>>[number],
): Held['batch_rows'][number] {
  const { reference, label } = row
  return {
    ...keys.ofKey(row.keyId),
    mode: row.mode,
    operation: row.operation,
    batch: row.batch,
    line: row.line,
    request_reference: reference,
    is_waiting: row.isWaiting,
    label: open(() => openRowLabel(keyring, { reference, label })) ?? '',
  }
}

async function readReused({ store, keyring }: HeldDeps, kind: Kind, number: string) {
  const subject = toBlindIndex(keyring['reuse-index'], kind, number)
  const row = await store.people.findReused(subject)
  if (!row) return []
  const reused = open(() => openReused<object>(keyring, subject, row.sealed))
  const fields = reused ? toReportFields(reused.record) : DAMAGED
  return [{ source: reused?.source ?? 'unknown', kept_until: toIsoTime(row.expiresAt), fields }]
}

const DAMAGED: ReportFields = [{ name: 'cannot be opened', value: '' }]

function toAnswerFields(response: StoredResponse | undefined): ReportFields {
  const body = response && open(() => JSON.parse(response.body) as { data?: object })
  return body ? toReportFields(body.data ?? {}) : DAMAGED
}

function toQuestionFields(question: ReturnType<typeof openQuestion> | undefined): ReportFields {
  if (!question) return DAMAGED
  const { number, phone, amount, details, consentReference, purpose } = question
  return toReportFields({ number, phone, amount, ...details, consentReference, purpose })
}

/** Damage to one row must not hide the others. */
function open<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
