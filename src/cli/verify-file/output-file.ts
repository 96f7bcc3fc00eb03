import { closeSync, existsSync, fdatasyncSync, ftruncateSync, openSync, renameSync, writeSync } from 'node:fs'
import { UserError } from '../../errors.ts'

/** The results while they are written: a partial file beside the final one. Only its owner may read it. */
export type OutputFile = {
  readonly write: (text: string) => void
  /** Makes what was written durable, and returns the length. */
  readonly sync: () => number
  /** Gives the file its name. */
  readonly finish: () => void
  readonly close: () => void
}

export function refuseExistingOutput(out: string, force: true | undefined): void {
  if (!force && existsSync(out))
    throw new UserError(`${out} exists. Give another name, or --force to replace it.`)
}

/** `keptBytes` is the durable length when the run was interrupted: what follows is written again. */
export function openOutputFile(out: string, keptBytes: number): OutputFile {
  const partial = `${out}.partial`
  const orRefuse = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      const { code = 'unknown error' } = error as NodeJS.ErrnoException
      throw new UserError(
        code === 'ENOSPC'
          ? `The disk of ${partial} is full. Free some space, and run the same command again.`
          : `${partial} cannot be written (${code}). Choose another file with --out.`,
      )
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
