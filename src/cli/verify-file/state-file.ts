import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { UserError } from '../../errors.ts'
import { toWriteError } from '../output-path.ts'
import type { Counts } from './counts.ts'
import type { Part } from './input-file.ts'

/** A part of the file, and the batch in which it was sent. */
export type SentPart = Part & {
  /** Made before the part is sent, so that a second attempt gets the same batch. */
  readonly idempotencyKey: string
  readonly batch: string | null
}

/** How far a file was verified. It holds no personal data. */
export type RunState = {
  readonly version: 1
  /** Keyed hash of the content of the file. */
  readonly digest: string
  readonly server: string
  readonly parts: readonly SentPart[]
  /** Parts whose results are written, and how long the partial file was then. */
  readonly written: number
  readonly bytes: number
  /** Of the written parts. */
  readonly counts: Counts
}

type StateFile = {
  readonly read: () => RunState | undefined
  readonly write: (state: RunState) => void
  readonly remove: () => void
}

/** Beside the results, under their name. Replaced as a whole, so that it is never incomplete. */
export function openStateFile(out: string): StateFile {
  const path = `${out}.state`
  return {
    read: () => {
      try {
        return toState(readFileSync(path, 'utf8'))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw new UserError(`${path} cannot be read. Delete it to start from the beginning.`)
      }
    },
    write: (state) => {
      try {
        replaceFile(path, `${JSON.stringify(state)}\n`)
      } catch (error) {
        throw toWriteError(path, error)
      }
    },
    remove: () => rmSync(path, { force: true }),
  }
}

function replaceFile(path: string, text: string): void {
  const next = `${path}.next`
  const file = openSync(next, 'w', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(next, path)
}

function toState(text: string): RunState {
  const state = JSON.parse(text) as RunState
  if (state.version !== 1 || !Array.isArray(state.parts)) throw new Error('not a state file')
  return state
}
