import { readAssetText } from '../assets/asset.ts'
import type { LiveCatalogue } from '../catalogue/live-catalogue.ts'
import type { Config } from '../config/config.ts'
import type { App } from '../http/app.ts'
import { type Exchange, toTextReply } from '../http/exchange.ts'
import { createToOrigin } from '../http/origin.ts'
import { SCRIPT_HASH, toDocsPage } from './docs-page.ts'

/** The server address in the generated document. */
const EXAMPLE = 'http://127.0.0.1:8080'

/** Serves the OpenAPI document and the reference page, with the address of this server. */
export function addDocs(
  app: App,
  config: Pick<Config, 'publicUrl' | 'trustProxy' | 'tlsCert'>,
  catalogue: Pick<LiveCatalogue, 'current'>,
): void {
  const openApi = readAssetText('openapi.json')
  const toOrigin = createToOrigin(config)
  const withOrigin = (text: string, exchange: Exchange) =>
    text.replaceAll(EXAMPLE, toOrigin(exchange) ?? EXAMPLE)
  // Rendered at the first request, so that the server starts sooner, and again for another catalogue.
  let page = { lists: undefined as LiveCatalogue['current'] | undefined, text: '' }
  const toPage = () => {
    const lists = catalogue.current
    if (page.lists !== lists) page = { lists, text: toDocsPage(JSON.parse(openApi), lists) }
    return page.text
  }
  const common = { methods: ['GET'], operation: 'docs' }
  app.route({
    ...common,
    path: '/openapi.json',
    answer: (exchange) =>
      toTextReply('application/json; charset=utf-8', withOrigin(openApi, exchange), DOCUMENT_HEADERS),
  })
  app.route({
    ...common,
    path: '/docs',
    answer: (exchange) =>
      toTextReply('text/html; charset=utf-8', withOrigin(toPage(), exchange), PAGE_HEADERS),
  })
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
