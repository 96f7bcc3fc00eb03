import { accessSync, constants } from 'node:fs'
import { UserError } from '../errors.ts'

type Failure = { readonly code?: string; readonly errcode?: number }

const UNWRITABLE = ['EACCES', 'EEXIST', 'EISDIR', 'ENOENT', 'ENOTDIR', 'EPERM', 'EROFS']
const BUSY = 5
const READ_ONLY = 8
const DISK_FAILED = 10
const DAMAGED = 11
const FULL = 13
const CANNOT_OPEN = 14
const NOT_A_DATABASE = 26
/** The index of the write-ahead log cannot grow: the disk is full, too. */
const NO_ROOM_FOR_INDEX = 4874

/** SQLite's primary result code, without the extended bits. */
const toResult = (error: unknown) => ((error as Failure).errcode ?? 0) & 0xff

export const isBusy = (error: unknown) => toResult(error) === BUSY

/** Whether there is a database. One that this user may not read is not missing. */
export function hasDatabase(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch (error) {
    const { code = '' } = error as Failure
    if (!['EACCES', 'EPERM'].includes(code)) return false
    throw new UserError(
      `This user (${process.getuid?.()}) may not read ${path}. Run the command as the user of the server.`,
    )
  }
}

/** What is wrong with the database and what to do, where its path is not known. Undefined if the error is not one of SQLite. */
export function toStorageProblem(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (toResult(error) === 0) return toStorageProblem(error.cause)
  const told = toSqliteUserError('the SQLite database', error)
  return told instanceof UserError ? told.message.replace(/^t/, 'T') : undefined
}

/** A message that says what is wrong and what to do. Unknown errors are returned unchanged. */
export function toSqliteUserError(path: string, error: unknown): Error {
  if (error instanceof UserError) return error
  const { code = '', errcode = 0 } = error as Failure
  const result = toResult(error)
  if (result === NOT_A_DATABASE || result === DAMAGED)
    return new UserError(
      `${path} is damaged or is not a Tabbat database. Restore a backup or move the file away.`,
    )
  if (result === READ_ONLY || result === CANNOT_OPEN || UNWRITABLE.includes(code))
    return new UserError(
      `${path} cannot be opened for writing. Check the folder and its permissions, or set TABBAT_DATA_DIR.`,
    )
  if (result === FULL || errcode === NO_ROOM_FOR_INDEX || code === 'ENOSPC')
    return new UserError(
      `The disk of ${path} is full. Free some space, or set TABBAT_DATA_DIR to another disk.`,
    )
  if (result === BUSY)
    return new UserError(`${path} was locked by another process for too long. End that process.`)
  if (result === DISK_FAILED) return new UserError(`The disk of ${path} fails (SQLite ${errcode}). Check it.`)
  return error as Error
}
