import type { KeyObject } from 'node:crypto'
import { toBlindIndex } from '../crypto/blind-index.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { AppError } from '../errors.ts'
import type { NewBatchRow } from '../store/batch.ts'
import { sealQuestion } from '../verification/queue/sealed-question.ts'
import { toVerificationRequest, type VerificationRequest } from '../verification/verification-request.ts'
import { type BatchRow, createCheckRow, type RowRefusal } from './batch-row.ts'
import type { IncomingBatch } from './incoming-batch.ts'
import type { InputRow } from './input-row.ts'
import { sealLabel } from './seal-label.ts'

/** A row as it is stored: sealed, or with the reasons of its refusal. */
type SealRow = (row: InputRow) => NewBatchRow

export function createSealRow(keyring: Keyring, subjectKey: KeyObject, incoming: IncomingBatch): SealRow {
  const checkRow = createCheckRow(incoming.caller.scopes)
  return (read) => {
    const row = checkRow(read)
    if (!('kind' in row)) return toRefused(read.line, row)
    const request = toRequest(incoming, row)
    if (!('number' in request)) return toRefused(read.line, request)
    const { reference } = request
    return {
      line: row.line,
      reference,
      operation: `verify_${row.kind}`,
      subject: toBlindIndex(subjectKey, row.kind, request.number),
      question: sealQuestion(keyring, reference, request),
      ...(row.reference !== undefined && { label: sealLabel(keyring, reference, row.reference) }),
    }
  }
}

const toRefused = (line: number, refusals: readonly RowRefusal[]): NewBatchRow => ({
  line,
  refusals: JSON.stringify(refusals.map(({ field, message }) => ({ field, message }))),
})

const CONSENT_HEADER = 'x-consent-reference'

/** The consent of the row, or else that of the request, is checked as it is for a single verification. */
function toRequest(incoming: IncomingBatch, row: BatchRow): VerificationRequest | RowRefusal[] {
  const { line, consentReference } = row
  const { 'idempotency-key': _key, ...headers } = incoming.headers
  const consent = consentReference === undefined ? {} : { [CONSENT_HEADER]: consentReference }
  try {
    return toVerificationRequest({ ...incoming, headers: { ...headers, ...consent } }, row)
  } catch (error) {
    if (!(error instanceof AppError) || !error.errors) throw error
    return Object.entries(error.errors).flatMap(([name, texts]) =>
      texts.map((text) => ({ line, field: toRowField(name), message: text.replace(name, toRowField(name)) })),
    )
  }
}

const toRowField = (name: string) => (name === 'X-Consent-Reference' ? 'consent_reference' : name)
