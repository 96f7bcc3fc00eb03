import type { ArchiveTable } from '../audit/archive-table.ts'
import type { AuditTable } from '../audit/audit-table.ts'
import { openRowLabel } from '../batches/seal-row.ts'
import { isVirtualNin } from '../contract/person.ts'
import type { PersonReport } from '../contract/person-report.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { type Kind, toBlindIndex } from '../crypto/mac.ts'
import type { KeyNames } from '../keys/key-names.ts'
import type { KeyTable } from '../keys/key-table.ts'
import type { Registry } from '../registry/registry.ts'
import { openStoredResponse, type StoredResponse } from '../verification/idempotency.ts'
import { openAnswer, openQuestion } from '../verification/queue/sealed-question.ts'
import { openReused } from '../verification/reuse.ts'
import type { ErasureTable } from './erasure-table.ts'
import type { KeptAnswer, PersonTable } from './person-table.ts'
import { type ReportFields, toReportFields } from './record-fields.ts'
import { findUnnamed } from './unnamed-answers.ts'

export type HeldDeps = {
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
export async function readHeld(deps: HeldDeps, kind: Kind, number: string, keys: KeyNames): Promise<Held> {
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
  const entry = isVirtualNin(number) ? undefined : await registry.find(kind, number)
  if (!entry) return { record: null, picture: null }
  const updatedAt = await store.people.findRecordTime(toBlindIndex(keyring['blind-index'], kind, number))
  const picture =
    entry.mediaId === null ? undefined : await registry.findPicture(Buffer.from(entry.mediaId, 'hex'))
  return {
    record: { updated_at: toTime(updatedAt ?? 0), fields: toReportFields(entry.record) },
    picture: picture
      ? {
          media_type: picture.bytes[0] === PNG_FIRST_BYTE ? 'image/png' : 'image/jpeg',
          bytes: picture.bytes.length,
          base64: picture.bytes.toString('base64'),
        }
      : null,
  }
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
  return [...(await store.people.listKept(subject)), ...others]
}

function toKept(keyring: Keyring, keys: KeyNames, kept: KeptAnswer): Held['kept_answers'][number] {
  const response = open(() => openStoredResponse(keyring, kept.name, kept.sealed))
  return {
    ...keys.ofLineage(kept.lineage),
    operation: kept.operation,
    request_reference: response?.reference ?? null,
    outcome: response?.outcome ?? null,
    kept_until: toTime(kept.expiresAt),
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
    ...{ mode: queued.mode, operation: queued.operation, request_reference: reference },
    ...{ state: queued.state, batch: queued.batch ?? null },
    accepted_at: toTime(queued.acceptedAt),
    kept_until: toTime(queued.expiresAt),
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
    ...{ mode: row.mode, operation: row.operation, batch: row.batch, line: row.line },
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
  return [{ source: reused?.source ?? 'unknown', kept_until: toTime(row.expiresAt), fields }]
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

const toTime = (ms: number) => new Date(ms).toISOString()
