import { hash } from 'node:crypto'
import { readAssetText } from '../assets/asset.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { TV_TYPES } from '../contract/bundles.ts'
import { SCOPES } from '../contract/scope.ts'
import { ERRORS } from '../errors.ts'
import { SANDBOX_KEY } from '../keys/sandbox-key.ts'
import { SANDBOX_NUMBERS } from '../sources/sandbox/numbers.ts'
import {
  type Html,
  html,
  raw,
  toCommandBlock,
  toId,
  toInline,
  toJsonBlock,
  toProse,
} from './docs-page/html.ts'
import { type Endpoint, jsonOf, listEndpoints, type OpenApi, readOpenApi } from './docs-page/open-api.ts'
import { listCurls, listSamples } from './docs-page/samples.ts'
import { listErrors, PERSONAL, toErrorsTable, toFieldsTable, toInputsTable } from './docs-page/tables.ts'

const SHEETS = ['theme', 'layout', 'contents', 'text', 'tag', 'table', 'code']
const STYLE = raw(SHEETS.map((name) => readAssetText(`src/reference/docs-page/style/${name}.css`)).join(''))
const SCRIPT = readAssetText('src/reference/docs-page/copy.js')

/** The one script that the browser may run, by its hash. */
export const SCRIPT_HASH = `sha256-${hash('sha256', SCRIPT, 'base64')}`

/** The reference as one HTML page, with one script and without external files. */
export function toDocsPage(document: Record<string, unknown>, catalogue: Catalogue): string {
  const openApi = readOpenApi(document)
  const { before, groups, after } = listParts(openApi, catalogue)
  const { title } = openApi.info
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
${toIntroduction(openApi)}
<p>The same as OpenAPI: <a href="/openapi.json">/openapi.json</a>.</p>
</header>
${before.map(toChapter)}
${groups.map((group) => toGroup(group))}
${after.map(toChapter)}
</main>
<script>${raw(SCRIPT)}</script>
</body>
</html>
`.safe
}

/** The same as a part of another page, without the product codes, which depend on the server. */
export function toApiReference(document: Record<string, unknown>): Html {
  const openApi = readOpenApi(document)
  const { before, groups, after } = listParts(openApi)
  return html`${toIntroduction(openApi)}
${before.map(toChapter)}
${groups.map((group) => toGroup(group))}
${after.map(toChapter)}`
}

/** The operations of the admin API. It has no sandbox key, so there are no calls to paste. */
export function toAdminReference(document: Record<string, unknown>): Html {
  const openApi = readOpenApi(document)
  const groups = listGroups(openApi, listEndpoints(openApi))
  return html`${toIntroduction(openApi)}
${groups.map((group) => toGroup(group, false))}`
}

const toIntroduction = ({
  info: { summary, description },
}: OpenApi) => html`<p class="lead">${toInline(summary)}</p>
${toProse(description)}
<p>Fields marked ${PERSONAL} are personal data: keep them out of logs.</p>`

function listParts(openApi: OpenApi, catalogue?: Catalogue) {
  const endpoints = listEndpoints(openApi)
  const webhooks = toWebhooksChapter(openApi)
  return {
    groups: listGroups(openApi, endpoints),
    before: [
      toFirstCall(endpoints[0], catalogue ? OWN_ADDRESS : EXAMPLE_ADDRESS),
      toAuthentication(),
      toHeaders(openApi),
    ],
    after: [
      ...(webhooks ? [webhooks] : []),
      toErrors(openApi),
      toSandboxNumbers(),
      ...(catalogue ? [toProductCodes(catalogue)] : []),
    ],
  }
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

const toGroup = ({ name, description, endpoints }: Group, hasCalls = true) => html`
<section id="tag-${toId(name)}" aria-labelledby="tag-${toId(name)}-title">
<h2 id="tag-${toId(name)}-title">${name}</h2>
<p>${toInline(description)}</p>
${endpoints.map((endpoint) => toOperationSection(endpoint, hasCalls))}
</section>`

/** One operation: call, response, errors. */
const toOperationSection = (endpoint: Endpoint, hasCalls: boolean): Html => html`
<section class="operation" id="${toId(endpoint.operationId)}" aria-labelledby="${toId(endpoint.operationId)}-title">
<h3 id="${toId(endpoint.operationId)}-title">${endpoint.summary ?? endpoint.operationId}</h3>
<p class="route">${toMethod(endpoint.method)}<code>${toPath(endpoint.path)}</code><span class="id">${endpoint.operationId}</span></p>
${toProse(endpoint.description)}
<h4>Inputs</h4>
${toInputsTable(endpoint)}
${hasCalls && toCalls(endpoint)}
${toSuccess(endpoint)}
<h4>Errors</h4>
${toErrorsTable(listErrors(endpoint))}
</section>`

const toCalls = (endpoint: Endpoint) => html`<h4>Example call</h4>
${listCurls(endpoint).map(({ title, command }) => toCommandBlock(title, command))}
${listSamples(endpoint).map(
  ({ language, code }) =>
    html`<details><summary>${language}</summary>${toCommandBlock(language, code)}</details>`,
)}`

const toMethod = (method: string) => html`<b class="method ${method.toLowerCase()}">${method}</b>`

const toPath = (path: string) =>
  path.split(/(\{[^}]+\})/).map((part, index) => (index % 2 === 1 ? html`<em>${part}</em>` : part))

function toSuccess({ responses, summary = '' }: Endpoint): Html {
  const status = Object.keys(responses).find((each) => each.startsWith('2')) ?? '200'
  const answer = responses[status]
  const json = jsonOf(answer) ?? Object.values(answer?.content ?? {})[0]
  return html`<h4>Answer <b class="status s2">${status}</b></h4>
<p>${toInline(answer?.description)}</p>
${toFieldsTable(json?.schema)}
${
  json?.example !== undefined &&
  html`<details><summary>Example answer</summary>${toJsonBlock(`Example answer: ${summary}`, json.example)}</details>`
}`
}

/** A section that is not about one operation. */
type Chapter = { readonly id: string; readonly title: string; readonly body: Html }

const OWN_ADDRESS = 'the public URL of this server, or the address of your request'
const EXAMPLE_ADDRESS = 'a server on your machine with default settings'

const toFirstCall = (endpoint: Endpoint | undefined, address: string): Chapter => ({
  id: 'first-call',
  title: 'First call',
  body: html`
<p>This key is public. It reaches only the sandbox, where all people are synthetic:</p>
${toCommandBlock('Sandbox key', SANDBOX_KEY)}
<p>Paste this into a terminal. A click on a command selects it.</p>
${
  endpoint &&
  listCurls(endpoint)
    .slice(0, 1)
    .map(({ command }) => toCommandBlock('curl', command))
}
<p>The examples on this page call <code>${endpoint?.server}</code>: ${address}. A server accepts the sandbox key while it listens on loopback, or if <code>TABBAT_SANDBOX=on</code> is set.</p>`,
})

const toAuthentication = (): Chapter => ({
  id: 'authentication',
  title: 'Authentication',
  body: html`
<p>Send your key in the <code>Authorization</code> header, as <code>Bearer &lt;key&gt;</code> or bare:</p>
<pre><code>Authorization: Bearer tbt_live_…
Authorization: tbt_live_…</code></pre>
<p>Without a valid key the answer is <b class="status s4">401</b>, whatever the reason. It is the only error with this
body:</p>
${toJsonBlock('Body of a 401', { message: ERRORS.unauthenticated.message })}
<p>A key has scopes: ${SCOPES.map((scope, index) => html`${index > 0 && ', '}<code>${scope}</code>`)}. Each operation
names the one it needs; a key without it gets <b class="status s4">403</b>.</p>`,
})

const toHeaders = ({ components }: OpenApi): Chapter => ({
  id: 'headers',
  title: 'Limits, ids and caching',
  body: html`
<p>Every key has a limit of requests per minute. A response says what is left of it. Above the limit you get
<b class="status s4">429</b>, with <code>Retry-After</code>.</p>
<table class="headers">
<thead><tr><th scope="col">Header<th scope="col">Meaning<th scope="col">Example</thead>
<tbody>${Object.entries(components.headers).map(
    ([name, { description, example }]) => html`
<tr><th scope="row"><code>${name}</code><td class="rest">${toInline(description)}<td class="rest sample"><code>${example}</code>`,
  )}
<tr><th scope="row"><code>ETag</code><td class="rest">${toInline(ETAG)}<td class="rest"><code>If-None-Match: "…"</code></tbody>
</table>
<p>Quote the <code>X-Request-Id</code> when you ask for help. You may send your own, of 8 to 64 letters, digits, dots,
hyphens and underscores; the server's log shows it if it is a UUID or a ULID.</p>`,
})

const ETAG =
  'Version of a look-up that was requested without a body. Send it in `If-None-Match`: if nothing has changed, the answer is 304 without a body.'

const toErrors = ({ components }: OpenApi): Chapter => ({
  id: 'errors',
  title: 'Errors',
  body: html`
<p>Every error except 401 has these fields. Programs should use <code>code</code>; the message is for people and may
change.</p>
${toFieldsTable(components.schemas.Error)}
<h3>All codes</h3>
${toErrorsTable(
  Object.entries(ERRORS)
    .map(([code, { status, message, retryable }]) => ({ status: String(status), code, message, retryable }))
    .sort((one, other) => Number(one.status) - Number(other.status)),
)}`,
})

/** The requests that the server sends. They have no path: the receiver chooses it. Undefined if the document has none. */
function toWebhooksChapter({ webhooks = {}, tags = [] }: OpenApi): Chapter | undefined {
  const events = Object.entries(webhooks)
  const post = events[0]?.[1].post
  if (!post) return undefined
  const about = tags.find(({ name }) => name === 'Webhooks')?.description
  const schema = jsonOf(post.requestBody)?.schema
  const body = html`
<p>${toInline(about)} The operator of the server creates the endpoints, for some keys or for
all. The requests are signed as Standard Webhooks specifies.</p>
<table>
<thead><tr><th scope="col">Event<th scope="col">When</thead>
<tbody>${events.map(
    ([name, webhook]) => html`
<tr><th scope="row"><code>${name}</code><td class="rest">${toInline(webhook.post.summary)}`,
  )}</tbody>
</table>
<h3>Headers</h3>
${toInputsTable({ parameters: post.parameters ?? [] })}
<h3>Body</h3>
<p>It never holds personal data. Fetch the answer with the reference and the key that asked.</p>
${toFieldsTable(schema)}
${schema?.examples?.[0] !== undefined && toJsonBlock('Body of an event', schema.examples[0])}
<h3>Your answer</h3>
<ul>${Object.entries(post.responses).map(
    ([status, { description }]) => html`
<li><b class="status s${status.slice(0, 1)}">${status}</b> ${toInline(description)}`,
  )}
</ul>
<p>Check the signature and the time before you use an event, and ignore a <code>webhook-id</code> that you have seen: an
event may arrive more than once.</p>`
  return { id: 'webhooks', title: 'Webhooks', body }
}

const toSandboxNumbers = (): Chapter => ({
  id: 'sandbox-numbers',
  title: 'Sandbox numbers',
  body: html`
<p>With a test key, every well-formed number is a synthetic person, always the same one, with the phone of your
request. These numbers trigger the other outcomes:</p>
<table class="numbers">
<thead><tr><th scope="col">Number<th scope="col">As<th scope="col">Status<th scope="col">Effect</thead>
<tbody>${SANDBOX_NUMBERS.map(
    ({ number, use, status, effect }) => html`
<tr><th scope="row"><code>${number}</code><td class="short">${use}<td class="short"><b class="status s${Math.floor(status / 100)}">${status}</b>
<td class="rest">${toInline(effect)}`,
  )}</tbody>
</table>`,
})

type Code = { readonly code: string; readonly name: string }

/** All codes of the catalogue in use, with the date of each list. No prices: the look-ups return them, with a key. */
const toProductCodes = (catalogue: Catalogue): Chapter => ({
  id: 'product-codes',
  title: 'Product codes',
  body: html`
<p>The codes in the catalogue of this server. The dates say when each list was taken:
${catalogue.asOf.map(({ name, as_of }, index) => html`${index > 0 && ', '}${name} ${as_of}`)}.</p>
${catalogue.providers.map((provider) =>
  toCodesList(`Internet bundles of ${provider}`, (catalogue.listInternetBundles(provider) ?? []).map(toCode)),
)}
${toCodesList('SME data bundles', catalogue.listSmeBundles().map(toCode))}
${TV_TYPES.map((type) => {
  const products = catalogue.tvProducts.filter((product) => product.type === type)
  return html`${toCodesList(`${type} products`, products)}${toCodesList(`${type} add-ons`, listAddOns(catalogue, products))}`
})}`,
})

const toCode = ({ code, description }: { code: string; description: string }) => ({
  code,
  name: description.trim(),
})

/** Several products share add-ons: each is listed once. */
function listAddOns(catalogue: Catalogue, products: Catalogue['tvProducts']): Code[] {
  const addOns = products.flatMap(({ type, code }) => catalogue.findTvProduct(type, code)?.add_ons ?? [])
  const byCode = new Map(addOns.map((addOn) => [addOn.add_on_product_code, addOn.name]))
  return [...byCode].map(([code, name]) => ({ code, name }))
}

const toCodesList = (title: string, codes: readonly Code[]): Html | false =>
  codes.length > 0 &&
  html`<details><summary>${title} (${codes.length})</summary>
<table class="codes">
<thead><tr><th scope="col">Code<th scope="col">Name</thead>
<tbody>${codes.map(({ code, name }) => html`<tr><th scope="row"><code>${code}</code><td class="rest">${name}`)}</tbody>
</table></details>`
