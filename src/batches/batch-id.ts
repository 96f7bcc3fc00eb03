import { createReference } from '../verification/reference.ts'

/** `bat_` and the time and random characters of a reference: sorts by time, cannot be guessed. */
export const createBatchId = (): string => `bat_${createReference().slice('ver_'.length)}`

export const isBatchId = (text: string): boolean => /^bat_[0-9a-z]{36}$/.test(text)
