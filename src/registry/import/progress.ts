import { createHmac } from 'node:crypto'
import { resolve } from 'node:path'
import type { Kind } from '../../crypto/blind-index.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Input } from './input.ts'
import type { Format } from './rows.ts'

/** Where an import stands. It is saved with the rows, so that they always agree. */
export type Progress = {
  /** How many bytes of the file are done. */
  readonly offset: number
  /** The line that comes next, counted from 1. */
  readonly line: number
  readonly records: number
  /** New ones and changed ones. */
  readonly changed: number
  readonly rejected: number
  readonly rejectedBytes: number
}

type Settings = { readonly kind: Kind; readonly format: Format; readonly rejectedPath: string }

/** Tells files apart without saying anything about them; undefined for what cannot be continued. */
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
