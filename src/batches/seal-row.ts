import type { KeyObject } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Keyring } from '../crypto/keyring.ts'
import { toBlindIndex } from '../crypto/mac.ts'
import { seal, toAssociatedData, unseal } from '../crypto/seal.ts'
import { AppError } from '../errors.ts'
import type { Caller } from '../keys/caller.ts'
import { sealQuestion } from '../verification/queue/sealed-question.ts'
import {
  createReference,
  toVerificationRequest,
  type VerificationRequest,
} from '../verification/verification-request.ts'
import type { NewBatchRow } from './batch.ts'
import { type BatchRow, createCheckRow, type RefusedRow } from './batch-row.ts'
import type { BatchFormat, InputRow } from './read-rows.ts'

/** A batch as it arrives. */
export type IncomingBatch = {
  readonly caller: Caller
  readonly person?: string | undefined
  readonly requestId: string
  readonly origin: string
  readonly headers: IncomingHttpHeaders
  readonly format: BatchFormat
  readonly pieces: AsyncIterable<Buffer>
}

/** A row as it is stored: sealed, or with the reasons of its refusal. */
type SealRow = (row: InputRow) => NewBatchRow

export function createSealRow(
  keyring: Keyring,
  subjectKey: KeyObject,
  incoming: IncomingBatch,
  purposes: readonly string[] | undefined,
): SealRow {
  const checkRow = createCheckRow(incoming.caller.scopes)
  return (read) => {
    const row = checkRow(read)
    if ('refusals' in row) return toRefused(keyring, read.line, row)
    const request = toRequest(incoming, row, purposes)
    if ('refusals' in request) return toRefused(keyring, read.line, request)
    const { reference } = request
    return {
      line: row.line,
      reference,
      operation: `verify_${row.kind}`,
      subject: toBlindIndex(subjectKey, row.kind, request.number),
      question: sealQuestion(keyring, reference, request),
      ...toLabel(keyring, reference, row),
    }
  }
}

/** It has a reference only to bind its label to. */
function toRefused(keyring: Keyring, line: number, row: RefusedRow): NewBatchRow {
  const refusals = JSON.stringify(row.refusals)
  const reference = createReference()
  return row.reference === undefined
    ? { line, refusals }
    : { line, refusals, reference, ...toLabel(keyring, reference, row) }
}

const toLabel = (keyring: Keyring, reference: string, row: { readonly reference?: string | undefined }) =>
  row.reference === undefined ? {} : { label: sealLabel(keyring, reference, row.reference) }

const CONSENT_HEADER = 'x-consent-reference'

/** The consent of the row, or else that of the request, is checked as it is for a single verification. */
function toRequest(
  incoming: IncomingBatch,
  row: BatchRow,
  purposes: readonly string[] | undefined,
): VerificationRequest | RefusedRow {
  const { reference, consentReference } = row
  const { 'idempotency-key': _key, ...headers } = incoming.headers
  const consent = consentReference === undefined ? {} : { [CONSENT_HEADER]: consentReference }
  try {
    return toVerificationRequest({ ...incoming, headers: { ...headers, ...consent } }, row, purposes)
  } catch (error) {
    if (!(error instanceof AppError) || !error.errors) throw error
    const refusals = Object.entries(error.errors).flatMap(([name, texts]) =>
      texts.map((text) => ({ field: toRowField(name), message: text.replace(name, toRowField(name)) })),
    )
    return { refusals, reference }
  }
}

const toRowField = (name: string) => (name === 'X-Consent-Reference' ? 'consent_reference' : name)

const bound = (reference: string) => toAssociatedData('batch_rows', Buffer.from(reference), 1)

/** Seals the caller's own word for a row, which may be personal. It is bound to the reference of the verification. */
const sealLabel = (keyring: Keyring, reference: string, label: string): Buffer =>
  seal(keyring.queue, Buffer.from(label), bound(reference))

type LabelledRow = { readonly reference: string | undefined; readonly label: Uint8Array | undefined }

/** Null for a row without a word. */
export const openRowLabel = (keyring: Keyring, { reference, label }: LabelledRow): string | null =>
  label && reference !== undefined ? unseal(keyring.queue, label, bound(reference)).toString() : null
