/** A registry record, and a second one that is read alike whether or not the first exists. */
export type RecordQuestion = { readonly subject: Uint8Array; readonly decoy: Uint8Array }

export type AnswerQuestion = {
  readonly keyId: string
  readonly operation: string
  readonly name: Uint8Array
}

/** What a verification by a source inside this process reads before it decides. */
export type Question = {
  readonly record: RecordQuestion | undefined
  /** Absent without an Idempotency-Key. */
  readonly answer: AnswerQuestion | undefined
}

export type SealedRow = { readonly keyVersion: number; readonly sealed: Uint8Array }

export type RecordRows = {
  /** As in the question. */
  readonly subject: Uint8Array
  readonly row: SealedRow | undefined
  /** The decoy, where there is no record. */
  readonly other: SealedRow | undefined
}

export type StoredAnswer = {
  readonly fingerprint: Uint8Array
  /** Null while the first request runs. */
  readonly sealed: Uint8Array | null
  readonly leaseUntil: number
  readonly expiresAt: number
}

export type Found = { readonly record: RecordRows; readonly answer: StoredAnswer | undefined }

export type LookupTable = {
  /** Without a promise in SQLite. In PostgreSQL, questions that arrive together share a statement. */
  readonly find: (question: Question) => Found | Promise<Found>
}

export const NO_RECORD: RecordRows = { subject: new Uint8Array(0), row: undefined, other: undefined }
