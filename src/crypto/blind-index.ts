import type { KeyObject } from 'node:crypto'
import { isVirtualNin } from '../contract/virtual-nin.ts'
import { toTextMac } from './mac.ts'

export const KINDS = ['nin', 'bvn'] as const
export type Kind = (typeof KINDS)[number]

/**
 * The only way to find a record by its number. A plain hash of eleven digits is reversed in minutes; this one needs a key that
 * is not in the database.
 */
export const toBlindIndex = (key: KeyObject, kind: Kind, number: string): Buffer =>
  Buffer.from(toBlindIndexText(key, kind, number), 'hex')

/** The same in hex. Virtual NINs have a domain of their own. */
export const toBlindIndexText = (key: KeyObject, kind: Kind, number: string): string =>
  toTextMac(key, `${isVirtualNin(number) ? 'vnin' : kind}:${number}`)
