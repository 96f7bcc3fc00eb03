import { TabbatError, unexpectedResponse } from './error.ts'
import { sleep, toDelayMs } from './retry.ts'
import {
  type Answer,
  type Call,
  MAX_RESPONSE_BYTES,
  parse,
  type Transport,
  throwIfAborted,
  toNetworkError,
} from './transport.ts'

/**
 * The objects of an NDJSON body, as they arrive. A body that breaks is asked for again, and what was given before is left out: the
 * server sends the same objects in the same order. `timeoutMs` is for the beginning of a response, and for each wait for more of it.
 */
export async function* stream<T extends object>(transport: Transport, call: Call): AsyncGenerator<T, void> {
  const { signal, timeoutMs = transport.timeoutMs } = call
  let given = 0
  for (let retries = 0; ; retries += 1) {
    const answer = await transport.send({ ...call, isStream: true })
    let seen = 0
    try {
      for await (const line of readLines(answer, timeoutMs, signal)) {
        seen += 1
        if (seen <= given) continue
        throwIfAborted(signal)
        given = seen
        retries = 0
        yield readObject<T>(line, answer)
      }
      return
    } catch (error) {
      throwIfAborted(signal)
      if (!(error as TabbatError).retryable || retries >= transport.maxRetries) throw error
      await sleep(toDelayMs(retries), signal)
    }
  }
}

function readObject<T extends object>(line: string, { status }: Answer): T {
  const value = parse(line)
  if (typeof value === 'object' && value !== null) return value as T
  throw unexpectedResponse(status)
}

async function* readLines(
  { body, end, status }: Answer,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void> {
  const reader = (body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (piece: Uint8Array | undefined) => {
    try {
      return decoder.decode(piece, { stream: piece !== undefined })
    } catch {
      throw unexpectedResponse(status)
    }
  }
  let isTimeout = false
  const stop = () => {
    isTimeout = true
    end()
  }
  signal?.addEventListener('abort', end)
  try {
    for (let rest = ''; ; ) {
      const timer = setTimeout(stop, timeoutMs)
      const { done, value } = await reader.read().finally(() => clearTimeout(timer))
      const lines = (rest + decode(value)).split('\n')
      rest = done ? '' : (lines.pop() ?? '')
      yield* lines.filter((line) => line !== '')
      if (rest.length > MAX_RESPONSE_BYTES) throw unexpectedResponse(status)
      if (done) return
    }
  } catch (thrown) {
    throw thrown instanceof TabbatError ? thrown : toNetworkError(thrown, isTimeout)
  } finally {
    signal?.removeEventListener('abort', end)
    end()
  }
}
