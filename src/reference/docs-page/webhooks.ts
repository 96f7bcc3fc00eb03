import { toJsonBlock } from './code-block.ts'
import { toFieldsTable } from './fields-table.ts'
import type { Chapter } from './guide.ts'
import { html } from './html.ts'
import { toInputsTable } from './inputs-table.ts'
import { jsonOf, type OpenApi, type Webhook } from './open-api.ts'
import { toInline } from './prose.ts'

/** The requests that the server sends. They have no path: the receiver chooses it. Undefined if the document has none. */
export function toWebhooksChapter({ webhooks = {}, tags = [] }: OpenApi): Chapter | undefined {
  const events = Object.entries(webhooks)
  const [first] = events
  return first && { id: 'webhooks', title: 'Webhooks', body: toBody(events, first[1], toAbout(tags)) }
}

const toAbout = (tags: NonNullable<OpenApi['tags']>) =>
  tags.find(({ name }) => name === 'Webhooks')?.description

const toBody = (
  events: readonly (readonly [string, Webhook])[],
  { post }: Webhook,
  about: string | undefined,
) => {
  const schema = jsonOf(post.requestBody)?.schema
  return html`
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
}
