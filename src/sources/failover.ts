import { AppError, type ErrorCode } from '../errors.ts'
import { type Answer, SourceError, type SourceFailure } from './source.ts'

const CODE_OF_FAILURE: Readonly<Record<SourceFailure, ErrorCode>> = {
  unreachable: 'source_unavailable',
  refused: 'source_unavailable',
  throttled: 'source_unavailable',
  timeout: 'source_timeout',
  bad_response: 'source_bad_response',
}

/** Asks the sources in order. An answer ends the search, a SourceError tries the next, anything else is our bug. */
export async function askInOrder<T>(asks: readonly (() => Promise<Answer<T>>)[]): Promise<Answer<T>> {
  let last: SourceError | undefined
  for (const ask of asks) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      last = error
    }
  }
  throw new AppError(last ? CODE_OF_FAILURE[last.reason] : 'source_unavailable', { cause: last })
}
