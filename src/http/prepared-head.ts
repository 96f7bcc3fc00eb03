import type { Exchange } from './exchange.ts'
import { nodeHttp } from './node-http.ts'

/**
 * Sends the headers of a 200 that were joined to text before. `writeHead` checks and joins every header of every response,
 * which costs as much as authentication, rate limit and log line together. `_storeHeader` is the second half of `writeHead`:
 * it adds Date, Connection and Keep-Alive to the text. It is not a documented method, so `writeHead` is used where it is
 * missing, and test/http/prepared-head.test.ts compares the bytes of both.
 */
type StoreHeader = (firstLines: string, headers: readonly string[]) => void

const storeHeader = (nodeHttp.ServerResponse.prototype as unknown as { _storeHeader?: StoreHeader })
  ._storeHeader

/** Names and values in turn, as lines. For constants and numbers only: nothing is checked. */
export function toHeadText(headers: readonly string[]): string {
  let text = ''
  for (let index = 0; index < headers.length; index += 2)
    text += `${headers[index]}: ${headers[index + 1]}\r\n`
  return text
}

/** False: nothing was sent, use `writeHead`. */
export function sendPreparedHead(
  { response, responseHeaders, awaitsContinue }: Exchange,
  headText: string,
  contentLength: number,
): boolean {
  if (storeHeader === undefined || awaitsContinue) return false
  response.statusCode = 200
  const firstLines = `HTTP/1.1 200 OK\r\n${toHeadText(responseHeaders)}${headText}`
  storeHeader.call(response, firstLines, ['content-length', String(contentLength)])
  return true
}
