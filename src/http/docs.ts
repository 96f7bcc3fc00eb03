import { readAssetText } from '../assets/asset.ts'
import { toDocsPage } from '../docs-page.ts'
import type { App } from './app.ts'
import { toTextReply } from './exchange.ts'

/** The description of the API, for programs and for people. The page loads nothing, from nowhere. */
export function addDocs(app: App): void {
  const openApi = readAssetText('openapi.json')
  const common = { methods: ['GET'], operation: 'docs' }
  const description = toTextReply('application/json; charset=utf-8', openApi, [
    'access-control-allow-origin',
    '*',
  ])
  // Made when somebody looks: a server starts sooner without it.
  let page: Buffer | undefined
  const toPage = () => {
    page ??= Buffer.from(toDocsPage(JSON.parse(openApi)))
    return page
  }
  app.route({ ...common, path: '/openapi.json', answer: () => description })
  app.route({
    ...common,
    path: '/docs',
    answer: () =>
      toTextReply('text/html; charset=utf-8', toPage(), [
        'content-security-policy',
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        'x-content-type-options',
        'nosniff',
      ]),
  })
}
