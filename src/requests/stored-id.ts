import type { KeyObject } from 'node:crypto'
import { toTextMac } from '../crypto/mac.ts'
import { isDrawnByChance } from '../telemetry/log.ts'

const HASHED = /^own_[0-9a-f]{32}$/

/**
 * A request id as the log has it. An id that its caller has chosen may be a number or a name, so only a keyed hash of it is
 * stored, by which it is still found.
 */
export const toStoredId = (key: KeyObject, id: string): string =>
  isDrawnByChance(id) ? id : `own_${toTextMac(key, id).slice(0, 32)}`

/** Whether a text is what the log has: it says nothing about a person. */
export const isStoredId = (text: string): boolean => HASHED.test(text) || isDrawnByChance(text)

/** The same for an id to search by, which may be the stored one. */
export const toSearchedId = (key: KeyObject, text: string): string =>
  isStoredId(text) ? text : toStoredId(key, text)
