import { createHmac } from 'node:crypto'
import { resolve } from 'node:path'
import type { Kind } from '../../crypto/blind-index.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Input } from './input.ts'
import type { Format } from './rows.ts'

/** Progress of an import. Saved in the same commit as the rows. */
export type Progress = {
  /** How many bytes of the file are done. */
  readonly offset: number
  /** The next line, counted from 1. */
  readonly line: number
  readonly records: number
  /** New and changed records. */
  readonly changed: number
  readonly rejected: number
  readonly rejectedBytes: number
}

type Settings = { readonly kind: Kind; readonly format: Format; readonly rejectedPath: string }

/** A keyed hash that identifies the file and reveals nothing about it; undefined for input that cannot be continued. */
export function toImportId(
  keyring: Keyring,
  input: Input,
  { kind, format, rejectedPath }: Settings,
): string | undefined {
  if (input.identity === undefined) return undefined
  return createHmac('sha256', keyring.digest)
    .update(['import', kind, format, resolve(rejectedPath), input.identity, ''].join('\n'))
    .update(input.head)
    .digest('hex')
}

export const readProgress = (text: string): Progress => JSON.parse(text) as Progress
