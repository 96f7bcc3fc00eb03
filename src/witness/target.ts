import { hash } from 'node:crypto'
import { toDatabasePlace } from '../settings/database-url.ts'

/** Where checkpoints are sent to: the setting TABBAT_WITNESS. */
export type WitnessTarget =
  | { readonly kind: 'webhook'; readonly url: string; readonly token: string | undefined }
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'sqlite'; readonly path: string }

export function toWitnessTarget(address: string, token: string | undefined): WitnessTarget {
  if (address.startsWith('sqlite:')) return { kind: 'sqlite', path: address.slice('sqlite:'.length) }
  return /^https?:/.test(address)
    ? { kind: 'webhook', url: address, token }
    : { kind: 'postgres', url: address }
}

/** Under this id the database remembers what was sent. New credentials do not change it. */
export const toTargetId = (target: WitnessTarget): string =>
  hash('sha256', `${target.kind} ${toPlace(target)}`).slice(0, 32)

/** The id of the witness in the settings. */
export const findTargetId = ({
  witness,
  witnessToken,
}: {
  readonly witness: string | undefined
  readonly witnessToken: string | undefined
}): string | undefined =>
  witness === undefined ? undefined : toTargetId(toWitnessTarget(witness, witnessToken))

/** For people. Without credentials, and without the path of an address, which may hold a token. */
export const toShownTarget = (target: WitnessTarget): string =>
  target.kind === 'webhook' ? new URL(target.url).origin : toPlace(target)

function toPlace(target: WitnessTarget): string {
  if (target.kind === 'sqlite') return target.path
  if (target.kind === 'postgres') return `postgres://${toDatabasePlace(target.url)}`
  const { origin, pathname } = new URL(target.url)
  return origin + pathname
}
