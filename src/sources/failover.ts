import { AppError, type ErrorCode } from '../errors.ts'
import { type Answer, SourceError, type SourceFailure } from './source.ts'

const CODE_OF_FAILURE: Readonly<Record<SourceFailure, ErrorCode>> = {
  unreachable: 'source_unavailable',
  refused: 'source_unavailable',
  throttled: 'source_unavailable',
  timeout: 'source_timeout',
  bad_response: 'source_bad_response',
}

/** One source that was asked: what came of it, and how long it took. For the audit. */
export type Tried = {
  readonly name: string
  readonly result: 'found' | 'not_found' | SourceFailure | 'error'
  readonly ms: number
}

export type SourceAsk<T> = { readonly name: string; readonly ask: () => Promise<Answer<T>> }

/** Asks the sources in order. An answer ends the search, a SourceError tries the next, anything else is our bug. */
export async function askInOrder<T>(asks: readonly SourceAsk<T>[], trail: Tried[]): Promise<Answer<T>> {
  let last: SourceError | undefined
  for (const { name, ask } of asks) {
    const startedAt = performance.now()
    const note = (result: Tried['result']) =>
      trail.push({ name, result, ms: Math.round(performance.now() - startedAt) })
    try {
      const answer = await ask()
      note(answer.found ? 'found' : 'not_found')
      return answer
    } catch (error) {
      note(error instanceof SourceError ? error.reason : 'error')
      if (!(error instanceof SourceError)) throw error
      last = error
    }
  }
  throw new AppError(last ? CODE_OF_FAILURE[last.reason] : 'source_unavailable', { cause: last })
}
