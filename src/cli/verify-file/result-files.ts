import {
  closeSync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { UserError } from '../../errors.ts'
import { writeError } from '../output-path.ts'
import type { Part } from './input-file.ts'

/** How many rows ended in each way. */
export type Counts = Readonly<
  Record<'verified' | 'not_verified' | 'refused' | 'failed' | 'cancelled', number>
>

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
        throw writeError(path, error)
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

/** The results while they are written: a partial file beside the final one. Only its owner may read it. */
export type OutputFile = {
  readonly write: (text: string) => void
  /** Makes what was written durable, and returns the length. */
  readonly sync: () => number
  /** Gives the file its name. */
  readonly finish: () => void
  readonly close: () => void
}

/** `keptBytes` is the durable length when the run was interrupted: what follows is written again. */
export function openOutputFile(out: string, keptBytes: number): OutputFile {
  const partial = `${out}.partial`
  const orRefuse = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      throw writeError(partial, error)
    }
  }
  const file = orRefuse(() => openSync(partial, keptBytes === 0 ? 'w' : 'r+', 0o600))
  orRefuse(() => ftruncateSync(file, keptBytes))
  let length = keptBytes
  let isOpen = true
  const close = () => {
    if (isOpen) closeSync(file)
    isOpen = false
  }
  return {
    write: (text) => {
      const bytes = Buffer.from(text)
      for (let done = 0; done < bytes.length; )
        done += orRefuse(() => writeSync(file, bytes, done, bytes.length - done, length + done))
      length += bytes.length
    },
    sync: () => {
      orRefuse(() => fdatasyncSync(file))
      return length
    },
    finish: () => {
      orRefuse(() => fdatasyncSync(file))
      close()
      orRefuse(() => renameSync(partial, out))
    },
    close,
  }
}
