import { setTimeout as pause } from 'node:timers/promises'

/** The server did not answer recently, and another operation is probing it. */
class ServerUnresponsive extends Error {
  readonly code = 'ETIMEDOUT'

  constructor() {
    super('the database does not answer')
    this.name = 'StoreSilent'
  }
}

/** The driver's messages for a server that does not answer. */
const TIMEOUT_MESSAGES =
  /^Query read timeout$|^Connection terminated due to connection timeout$|^timeout expired$/

export const isServerTimeout = (error: unknown) =>
  error instanceof Error && TIMEOUT_MESSAGES.test(error.message)

/** No connection became free: load, or all of them wait for a silent server. */
const isConnectionWait = (error: unknown) =>
  error instanceof Error && error.message === 'timeout exceeded when trying to connect'

/** How long a caller waits for an operation that probes a silent server. It may have waited for another operation before. */
export const PROBE_MS = 1000

type TimeoutBreaker = <T>(work: () => Promise<T>, isPatient?: boolean) => Promise<T>

/**
 * While the server does not answer, one operation at a time probes it and the others fail at once: a caller waits for at most
 * one timeout, not for one at every step. `isPatient`: the operation may take as long as it takes.
 */
export function createTimeoutBreaker(): TimeoutBreaker {
  let isUnresponsive = false
  let isProbing = false
  /** Counts the answers of the server. */
  let answers = 0
  const noteAnswer = () => {
    answers += 1
    isUnresponsive = false
  }
  const watch = async <T>(work: () => Promise<T>): Promise<T> => {
    const before = answers
    try {
      const result = await work()
      noteAnswer()
      return result
    } catch (error) {
      if (isServerTimeout(error)) isUnresponsive = true
      // Without this, the next step of the same request would wait as long again.
      else if (isConnectionWait(error)) isUnresponsive ||= answers === before
      else noteAnswer()
      throw error
    }
  }
  return async (work, isPatient = false) => {
    if (!isUnresponsive) return watch(work)
    if (isProbing) throw new ServerUnresponsive()
    isProbing = true
    const probe = watch(work).finally(() => {
      isProbing = false
    })
    return isPatient ? probe : Promise.race([probe, failLater()])
  }
}

async function failLater(): Promise<never> {
  await pause(PROBE_MS, undefined, { ref: false })
  throw new ServerUnresponsive()
}
