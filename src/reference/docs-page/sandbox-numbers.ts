import { SANDBOX_NUMBERS } from '../../sources/sandbox/numbers.ts'
import type { Chapter } from './guide.ts'
import { html } from './html.ts'
import { toInline } from './prose.ts'

export const toSandboxNumbers = (): Chapter => ({
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
