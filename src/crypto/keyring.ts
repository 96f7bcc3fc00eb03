import { createSecretKey, type KeyObject } from 'node:crypto'
import { UserError } from '../errors.ts'
import type { RootKey, RootKeys } from './root-key.ts'
import { seal, toAssociatedData, unseal } from './seal.ts'

/** One key for each purpose: a leak of one does not affect the others. */
const PURPOSES = [
  'api-key-pepper',
  'blind-index',
  'subject',
  'digest',
  'media-url',
  'idempotency',
  'audit-signing',
  'reuse',
  'reuse-index',
  'console-password',
  'console-token',
  'webhook-secret',
  'queue',
  'request-id',
  'second-factor',
  'revocation',
  'erasure',
] as const
type Purpose = (typeof PURPOSES)[number]

/** Not carried over: links to pictures live for minutes, and a thief of the old root key must not be able to make any. */
const RENEWED: readonly Purpose[] = ['media-url']

/**
 * The keys of a database, held as KeyObjects: they cannot appear in a log, and are several times faster than buffers.
 *
 * A hash cannot be recomputed without its input, so the keys for hashes survive a rotation of the root key: they are carried
 * over, sealed under the new root. Sealed rows are sealed again under the new version.
 */
export type Keyring = { readonly [Name in Purpose]: KeyObject } & {
  /** Version of the root key that seals new rows. */
  readonly version: number
  /** The key for rows sealed under a version; undefined when it is not held. */
  readonly sealing: (version: number) => KeyObject | undefined
}

/** What the database stores about its root key. */
export type RootState = {
  readonly fingerprint: string | undefined
  readonly version: number
  /** Set during a rotation. */
  readonly previousFingerprint: string | undefined
  /** The carried keys, sealed under the current root; absent before the first rotation. */
  readonly carried: string | undefined
}

export function openKeyring({ candidates, where }: RootKeys, state: RootState): Keyring {
  const byFingerprint = (wanted: string | undefined) =>
    candidates.find(({ fingerprint }) => fingerprint === wanted)
  const current = state.fingerprint === undefined ? candidates[0] : byFingerprint(state.fingerprint)
  if (!current)
    throw new UserError(
      `The root key (from ${where}) is not the one this database was created with. Give the right one. Nothing was changed.`,
    )
  const previous = byFingerprint(state.previousFingerprint)
  if (state.previousFingerprint !== undefined && !previous)
    throw new UserError(
      `A rotation of the root key is running, and the previous key is missing from ${where}. Set TABBAT_ROOT_KEY_PREVIOUS, or put it back on the second line of the file.`,
    )
  const sealing = new Map([[state.version, current.derive('record')]])
  if (previous) sealing.set(state.version - 1, previous.derive('record'))
  const carried = state.carried === undefined ? deriveCarried(current) : openCarried(current, state)
  return { ...carried, version: state.version, sealing: (version) => sealing.get(version) }
}

/** The carried keys, sealed under the next root key. */
export function sealCarried(keyring: Keyring, next: RootKey, nextVersion: number): string {
  const names = PURPOSES.filter((name) => !RENEWED.includes(name))
  const keys = names.map((name) => [name, keyring[name].export().toString('base64')])
  const plain = Buffer.from(JSON.stringify(Object.fromEntries(keys)))
  return seal(
    next.derive('carry'),
    plain,
    toAssociatedData('carried', Buffer.alloc(0), nextVersion),
  ).toString('base64')
}

const deriveCarried = (root: RootKey) =>
  Object.fromEntries(PURPOSES.map((name) => [name, root.derive(name)])) as Record<Purpose, KeyObject>

function openCarried(root: RootKey, { carried = '', version }: RootState): Record<Purpose, KeyObject> {
  const bound = toAssociatedData('carried', Buffer.alloc(0), version)
  const plain = JSON.parse(unseal(root.derive('carry'), Buffer.from(carried, 'base64'), bound).toString())
  return Object.fromEntries(
    PURPOSES.map((name) => [name, toCarriedKey(plain[name]) ?? root.derive(name)]),
  ) as Record<Purpose, KeyObject>
}

/** Of a purpose that is renewed, or was added after the last rotation, the key is derived from the present root. */
const toCarriedKey = (text: unknown) =>
  typeof text === 'string' ? createSecretKey(Buffer.from(text, 'base64')) : undefined
