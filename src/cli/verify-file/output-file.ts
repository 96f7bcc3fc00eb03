import { closeSync, fdatasyncSync, ftruncateSync, openSync, renameSync, writeSync } from 'node:fs'
import { toWriteError } from '../output-path.ts'

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
      throw toWriteError(partial, error)
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
