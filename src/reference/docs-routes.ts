import { readAssetText } from '../assets/asset.ts'
import type { LiveCatalogue } from '../catalogue/live-catalogue.ts'
import type { Config } from '../context/config.ts'
import { createToOrigin } from '../http/address.ts'
import { type Admission, withAdmission } from '../http/admission.ts'
import type { App } from '../http/app.ts'
import { type Exchange, type Reply, toTextReply } from '../http/exchange.ts'
import { createBoundedMap } from '../keys/bounded-map.ts'
import { SCRIPT_HASH, toDocsPage } from './docs-page.ts'

/** The server address in the generated document. */
const EXAMPLE = 'http://127.0.0.1:8080'

/** Addresses for which a document is kept. The caller chooses the Host header. */
const MAX_ORIGINS = 8

/** Serves the OpenAPI document and the reference page, with the address of this server. */
export function addDocs(
  app: App,
  config: Pick<Config, 'publicUrl' | 'trustProxy' | 'tlsCert'>,
  catalogue: Pick<LiveCatalogue, 'current'>,
  admission: Admission,
): void {
  const openApi = readAssetText('openapi.json')
  const toOrigin = createToOrigin(config)
  // Made at the first request, so that the server starts sooner.
  let toDocument: ToBytes | undefined
  // Rendered again for another catalogue.
  let page: { readonly lists: LiveCatalogue['current']; readonly toBytes: ToBytes } | undefined
  const toPage: ToBytes = (origin) => {
    const lists = catalogue.current
    if (page?.lists !== lists)
      page = { lists, toBytes: createToBytes(toDocsPage(JSON.parse(openApi), lists)) }
    return page.toBytes(origin)
  }
  const sendDocument = (exchange: Exchange) => {
    toDocument ??= createToBytes(openApi)
    return toTextReply(
      'application/json; charset=utf-8',
      toDocument(toOrigin(exchange) ?? EXAMPLE),
      DOCUMENT_HEADERS,
    )
  }
  const sendPage = (exchange: Exchange) =>
    toTextReply('text/html; charset=utf-8', toPage(toOrigin(exchange) ?? EXAMPLE), PAGE_HEADERS)
  const takeTurn = createTurns()
  const inTurn = async (exchange: Exchange, send: (exchange: Exchange) => Reply) => {
    await takeTurn()
    return send(exchange)
  }
  const common = { methods: ['GET'], operation: 'docs' }
  app.route({
    ...common,
    path: '/openapi.json',
    answer: (exchange) => withAdmission(admission, exchange, inTurn, sendDocument),
  })
  app.route({
    ...common,
    path: '/docs',
    answer: (exchange) => withAdmission(admission, exchange, inTurn, sendPage),
  })
}

/**
 * One document for each turn of the event loop: to send one takes as long as a verification, and no key is needed for it.
 * So callers with keys do not wait for many documents.
 */
function createTurns(): () => Promise<void> {
  const waiting: (() => void)[] = []
  const startNext = () => {
    waiting.shift()?.()
    if (waiting.length > 0) setImmediate(startNext)
  }
  return () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(startNext)
    })
}

type ToBytes = (origin: string) => Buffer

/** A text with another server address. Responses share the bytes, so that many unread ones take no more memory than one. */
function createToBytes(text: string): ToBytes {
  const parts = text.split(EXAMPLE).map((part) => Buffer.from(part))
  const known = createBoundedMap<string, Buffer>(MAX_ORIGINS)
  return (origin) => {
    const before = known.get(origin)
    if (before) return before
    const address = Buffer.from(origin)
    const made = Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [address, part])))
    known.set(origin, made)
    return made
  }
}

/** The response depends on the Host header, so it must not be cached. */
const UNCACHED = ['cache-control', 'no-store']
const DOCUMENT_HEADERS = [...UNCACHED, 'access-control-allow-origin', '*']
const PAGE_HEADERS = [
  ...UNCACHED,
  'content-security-policy',
  `default-src 'none'; script-src '${SCRIPT_HASH}'; style-src 'unsafe-inline'; frame-ancestors 'none'`,
  'x-content-type-options',
  'nosniff',
]
