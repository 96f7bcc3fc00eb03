/** The server did not answer a moment ago, and one operation is finding out whether it does now. */
export class ServerUnresponsive extends Error {
  readonly code = 'ETIMEDOUT'

  constructor() {
    super('the database has fallen silent')
    this.name = 'StoreSilent'
  }
}

/** The driver's words for a server that does not answer. To wait too long for a free connection is no silence but load. */
const SILENT = /^Query read timeout$|^Connection terminated due to connection timeout$|^timeout expired$/

export const isServerTimeout = (error: unknown) => error instanceof Error && SILENT.test(error.message)

/**
 * While the server is silent, one operation at a time waits for it and the others fail at once: callers wait for one
 * time-out at most, not for one at every step.
 */
export function createTimeoutBreaker(): <T>(work: () => Promise<T>) => Promise<T> {
  let isSilent = false
  let isProbing = false
  return async (work) => {
    const probes = isSilent
    if (probes && isProbing) throw new ServerUnresponsive()
    if (probes) isProbing = true
    try {
      const result = await work()
      isSilent = false
      return result
    } catch (error) {
      // Any other answer is one.
      isSilent = isServerTimeout(error)
      throw error
    } finally {
      if (probes) isProbing = false
    }
  }
}
