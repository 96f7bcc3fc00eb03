/** The server did not answer recently, and another operation is probing it. */
class ServerUnresponsive extends Error {
  readonly code = 'ETIMEDOUT'

  constructor() {
    super('the database does not answer')
    this.name = 'StoreSilent'
  }
}

/** The driver's messages for a server that does not answer. Waiting too long for a free connection is load, and not listed. */
const TIMEOUT_MESSAGES =
  /^Query read timeout$|^Connection terminated due to connection timeout$|^timeout expired$/

export const isServerTimeout = (error: unknown) =>
  error instanceof Error && TIMEOUT_MESSAGES.test(error.message)

/**
 * While the server does not answer, one operation at a time probes it and the others fail at once: a caller waits for at most
 * one timeout, not for one at every step.
 */
export function createTimeoutBreaker(): <T>(work: () => Promise<T>) => Promise<T> {
  let isUnresponsive = false
  let isProbing = false
  return async (work) => {
    const probes = isUnresponsive
    if (probes && isProbing) throw new ServerUnresponsive()
    if (probes) isProbing = true
    try {
      const result = await work()
      isUnresponsive = false
      return result
    } catch (error) {
      // Any other error is an answer of the server.
      isUnresponsive = isServerTimeout(error)
      throw error
    } finally {
      if (probes) isProbing = false
    }
  }
}
