/**
 * What gives access, and how far, in a file outside the database: `revocations.log` beside `checkpoints.log`. After a restore of an
 * older backup it shows what was revoked, removed or restricted since then. A line is a JSON object with a MAC, about one
 * key, token, account or endpoint; the last one holds, but what has ended stays ended. No secret and no name is in it.
 */

import {
  appendSigned,
  readSigned,
  type SignedFile,
  type SignedLine,
  scanSigned,
} from '../audit/signed-file.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { UserError } from '../errors.ts'
import { type Access, isEnded, isRole, KINDS, STATES, toAccessKey } from './access.ts'

export const REVOCATIONS_FILE = 'revocations.log'

/** A line: how it was from that time on. */
export type Noted = Access & { readonly at: number }

/** By kind and id. */
export type KnownAccess = ReadonlyMap<string, Noted>

export const appendAccess = (
  folder: string,
  keyring: Pick<Keyring, 'revocation'>,
  noted: readonly Noted[],
): Promise<void> => appendSigned(folder, REVOCATIONS_FILE, keyring.revocation, noted.map(toLine))

const toLine = ({ kind, id, state, endsAt, role, options, at }: Noted) => ({
  ...{ kind, id, state, ends_at: toTime(endsAt), role, options },
  at: toTime(at),
})

const toTime = (at: number | null) => (at === null ? null : new Date(at).toISOString())

function toNoted({ kind, id, state, ends_at, role, options, at }: SignedLine): Noted | undefined {
  const [knownKind, knownState] = [KINDS.find((each) => each === kind), STATES.find((each) => each === state)]
  const [endsAt, time] = [ends_at === null ? null : Date.parse(String(ends_at)), Date.parse(String(at))]
  if (!knownKind || !knownState || Number.isNaN(time) || Number.isNaN(endsAt)) return undefined
  if (typeof id !== 'string' || typeof options !== 'string' || !(role === null || isRole(role)))
    return undefined
  return { kind: knownKind, id, state: knownState, endsAt, role, options, at: time }
}

/** The lines of a file, or of `revocations.log` in a folder. Undefined if there is none. */
export const readRevocationsFile = (path: string): Promise<SignedFile | undefined> =>
  readSigned(path, REVOCATIONS_FILE)

/** What the files say in the end. Refuses a line that this database has not signed. */
export function parseRevocations(
  files: readonly SignedFile[],
  keyring: Pick<Keyring, 'revocation'>,
): KnownAccess {
  const lines = files.flatMap((file) => {
    const { noted, unsignedLine } = scanRevocations(file, keyring)
    if (unsignedLine === undefined) return noted
    throw new UserError(
      `Line ${unsignedLine} of ${file.file} is not one that this database has signed: it was changed, or belongs to another root key. Give the right file with --revocations. Nothing was changed.`,
    )
  })
  return fold(lines)
}

export function scanRevocations(file: SignedFile, keyring: Pick<Keyring, 'revocation'>) {
  const { values, unsignedLine } = scanSigned(file, keyring.revocation, toNoted)
  return { noted: values, unsignedLine }
}

/** Files of several nodes say the same at different times. */
export function fold(lines: readonly Noted[]): KnownAccess {
  const known = new Map<string, Noted>()
  for (const line of lines.toSorted((one, other) => one.at - other.at)) {
    const before = known.get(toAccessKey(line))
    if (!before || !isEnded(before)) known.set(toAccessKey(line), line)
  }
  return known
}
