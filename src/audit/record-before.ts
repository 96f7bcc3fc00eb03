import { UserError } from '../errors.ts'
import type { AuditEntry } from './row.ts'

type Recorder = { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }

/**
 * Writes the row of a change, and then makes the change. If that is not made, a second row says so: `refused`, or `failed` after
 * a failure of the database. If the row cannot be written, nothing is changed.
 */
export async function recordBefore<T>(
  audit: Recorder,
  entry: AuditEntry,
  change: () => Promise<T>,
): Promise<T> {
  await audit.record([entry])
  try {
    return await change()
  } catch (error) {
    const outcome = error instanceof UserError ? 'refused' : 'failed'
    // The error of the change says more than one of the log.
    await audit.record([{ ...entry, outcome }]).catch(() => {})
    throw error
  }
}
