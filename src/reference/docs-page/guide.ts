import { SCOPES } from '../../contract/scope.ts'
import { ERRORS } from '../../errors.ts'
import { SANDBOX_KEY } from '../../keys/sandbox-key.ts'
import { toCommandBlock, toJsonBlock } from './code-block.ts'
import { listCurls } from './curl.ts'
import { toErrorsTable } from './errors-table.ts'
import { toFieldsTable } from './fields-table.ts'
import { type Html, html } from './html.ts'
import type { Endpoint, OpenApi } from './open-api.ts'
import { toInline } from './prose.ts'

/** A section that is not about one operation. */
export type Chapter = { readonly id: string; readonly title: string; readonly body: Html }

export const toFirstCall = (endpoint: Endpoint | undefined): Chapter => ({
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
<p>The examples on this page call <code>${endpoint?.server}</code>: the public URL of this server, or the address of your
request. A server accepts the sandbox key while it listens on loopback, or if <code>TABBAT_SANDBOX=on</code> is set.</p>`,
})

export const toAuthentication = (): Chapter => ({
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

export const toHeaders = ({ components }: OpenApi): Chapter => ({
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

export const toErrors = ({ components }: OpenApi): Chapter => ({
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
