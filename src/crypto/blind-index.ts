import type { KeyObject } from 'node:crypto'
import { toTextMac } from './mac.ts'

export const KINDS = ['nin', 'bvn'] as const
export type Kind = (typeof KINDS)[number]

/**
 * The only way to find a record by its number. A plain hash of eleven digits is reversed in minutes; this one needs a key that
 * is not in the database.
 */
export const toBlindIndex = (key: KeyObject, kind: Kind, number: string): Buffer =>
  Buffer.from(toBlindIndexText(key, kind, number), 'hex')

/** The same in hex. */
export const toBlindIndexText = (key: KeyObject, kind: Kind, number: string): string =>
  toTextMac(key, `${kind}:${number}`)
