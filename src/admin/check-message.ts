import type { KeyObject } from 'node:crypto'
import type { Verdict } from '../audit/verify-audit-log.ts'
import type { StoreOptions } from '../store/store.ts'

/** The input of the worker thread that verifies the audit log. */
export type CheckInput = {
  readonly store: StoreOptions
  readonly publicKey: KeyObject
  /** The folder of checkpoints.log. */
  readonly folder: string
  /** An uploaded file, which is compared instead. */
  readonly uploaded: string | undefined
  /** The folder of archives. */
  readonly archiveDir: string | undefined
}

/** A message of the worker thread: progress, then a result. */
export type CheckMessage =
  | { readonly rows: number; readonly total: number }
  | { readonly verdict: Verdict }
  | { readonly problem: string }

/** How the result names an uploaded file: its name is the user's own matter. */
export const UPLOADED = 'the uploaded file'
