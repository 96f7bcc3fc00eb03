import { toCommandBlock, toJsonBlock } from './code-block.ts'
import { listCurls } from './curl.ts'
import { listErrors, toErrorsTable } from './errors-table.ts'
import { toFieldsTable } from './fields-table.ts'
import { type Html, html, toId } from './html.ts'
import { toInputsTable } from './inputs-table.ts'
import { type Endpoint, jsonOf } from './open-api.ts'
import { toInline, toProse } from './prose.ts'
import { listSamples } from './samples.ts'

/** One operation: call, response, errors. */
export const toOperationSection = (endpoint: Endpoint): Html => html`
<section class="operation" id="${toId(endpoint.operationId)}" aria-labelledby="${toId(endpoint.operationId)}-title">
<h3 id="${toId(endpoint.operationId)}-title">${endpoint.summary ?? endpoint.operationId}</h3>
<p class="route">${toMethod(endpoint.method)}<code>${toPath(endpoint.path)}</code><span class="id">${endpoint.operationId}</span></p>
${toProse(endpoint.description)}
<h4>Inputs</h4>
${toInputsTable(endpoint)}
<h4>Example call</h4>
${listCurls(endpoint).map(({ title, command }) => toCommandBlock(title, command))}
${listSamples(endpoint).map(
  ({ language, code }) =>
    html`<details><summary>${language}</summary>${toCommandBlock(language, code)}</details>`,
)}
${toSuccess(endpoint)}
<h4>Errors</h4>
${toErrorsTable(listErrors(endpoint))}
</section>`

export const toMethod = (method: string) => html`<b class="method ${method.toLowerCase()}">${method}</b>`

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
