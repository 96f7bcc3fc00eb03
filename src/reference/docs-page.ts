import { hash } from 'node:crypto'
import { readAssetText } from '../assets/asset.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { type Chapter, toAuthentication, toErrors, toFirstCall, toHeaders } from './docs-page/guide.ts'
import { type Html, html, raw, toId } from './docs-page/html.ts'
import { PERSONAL } from './docs-page/inputs-table.ts'
import { type Endpoint, listEndpoints, type OpenApi, readOpenApi } from './docs-page/open-api.ts'
import { toMethod, toOperationSection } from './docs-page/operation-section.ts'
import { toProductCodes } from './docs-page/product-codes.ts'
import { toInline, toProse } from './docs-page/prose.ts'
import { toSandboxNumbers } from './docs-page/sandbox-numbers.ts'
import { toWebhooksChapter } from './docs-page/webhooks.ts'

const SHEETS = ['theme', 'layout', 'contents', 'text', 'tag', 'table', 'code']
const STYLE = raw(SHEETS.map((name) => readAssetText(`src/reference/docs-page/style/${name}.css`)).join(''))
const SCRIPT = readAssetText('src/reference/docs-page/copy.js')

/** The one script that the browser may run, by its hash. */
export const SCRIPT_HASH = `sha256-${hash('sha256', SCRIPT, 'base64')}`

/** The reference as one HTML page, with one script and without external files. */
export function toDocsPage(document: Record<string, unknown>, catalogue: Catalogue): string {
  const openApi = readOpenApi(document)
  const endpoints = listEndpoints(openApi)
  const groups = listGroups(openApi, endpoints)
  const before = [toFirstCall(endpoints[0]), toAuthentication(), toHeaders(openApi)]
  const webhooks = toWebhooksChapter(openApi)
  const after = [
    ...(webhooks ? [webhooks] : []),
    toErrors(openApi),
    toSandboxNumbers(),
    toProductCodes(catalogue),
  ]
  const { title, summary, description } = openApi.info
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} API reference</title>
<style>${STYLE}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
${toSidebar(openApi, before, groups, after)}
<main id="main" tabindex="-1">
<header>
<h1>${title} <span>API reference</span></h1>
<p class="lead">${toInline(summary)}</p>
${toProse(description)}
<p>Fields marked ${PERSONAL} are personal data: keep them out of logs.</p>
<p>The same as OpenAPI: <a href="/openapi.json">/openapi.json</a>.</p>
</header>
${before.map(toChapter)}
${groups.map(toGroup)}
${after.map(toChapter)}
</main>
<script>${raw(SCRIPT)}</script>
</body>
</html>
`.safe
}

type Group = { readonly name: string; readonly description: string; readonly endpoints: readonly Endpoint[] }

/** The operations by tag, in the order of the document's tags. A tag without operations has no group. */
function listGroups({ tags = [] }: OpenApi, endpoints: readonly Endpoint[]): Group[] {
  const byTag = Map.groupBy(endpoints, (endpoint) => endpoint.tags?.[0] ?? 'Other')
  const names = new Set([...tags.map((tag) => tag.name), ...byTag.keys()]).intersection(byTag)
  return [...names].map((name) => ({
    name,
    description: tags.find((tag) => tag.name === name)?.description ?? '',
    endpoints: byTag.get(name) ?? [],
  }))
}

const toSidebar = (
  { info }: OpenApi,
  before: readonly Chapter[],
  groups: readonly Group[],
  after: readonly Chapter[],
): Html => html`<nav aria-label="Contents">
<p class="brand"><a href="#main">${info.title}</a> <span class="version">${info.version}</span></p>
${toLinks('Start', before.map(toChapterLink))}
${groups.map(({ name, endpoints }) => toLinks(name, endpoints.map(toEndpointLink)))}
${toLinks('More', [...after.map(toChapterLink), html`<a href="/openapi.json">openapi.json</a>`])}
</nav>`

const toLinks = (title: string, links: readonly Html[]) => html`<div>
<p class="group" id="nav-${toId(title)}">${title}</p>
<ul aria-labelledby="nav-${toId(title)}">${links.map((link) => html`<li>${link}`)}</ul>
</div>`

const toChapterLink = ({ id, title }: Chapter) => html`<a href="#${id}">${title}</a>`

const toEndpointLink = ({ operationId, method }: Endpoint) =>
  html`<a href="#${toId(operationId)}">${operationId} ${toMethod(method)}</a>`

const toChapter = ({ id, title, body }: Chapter) => html`
<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>${body}
</section>`

const toGroup = ({ name, description, endpoints }: Group) => html`
<section id="tag-${toId(name)}" aria-labelledby="tag-${toId(name)}-title">
<h2 id="tag-${toId(name)}-title">${name}</h2>
<p>${toInline(description)}</p>
${endpoints.map(toOperationSection)}
</section>`
