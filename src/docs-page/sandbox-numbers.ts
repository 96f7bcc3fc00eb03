import type { Chapter } from './guide.ts'
import { html } from './html.ts'
import { toInline } from './prose.ts'

/** What a test key meets in the sandbox: the number, what it is good for, the status, what happens. */
const NUMBERS = [
  ['00000000001', 'NIN, BVN', 200, 'A sparse record: the number and the phone, and hardly anything else.'],
  ['00000000002', 'BVN', 200, 'A BVN on the watch list: `watchlisted` says so.'],
  ['00000000003', 'NIN, BVN', 200, 'Long and accented names, and a long address.'],
  ['00000000422', 'NIN, BVN', 422, 'Not verified: `not_verified`.'],
  ['00000000429', 'NIN, BVN', 429, 'Rate limited: `rate_limited`, with `Retry-After`.'],
  ['00000000502', 'NIN, BVN', 502, 'A source answered garbage: `source_bad_response`.'],
  ['00000000503', 'NIN, BVN', 503, 'Every source is down: `source_unavailable`.'],
  ['00000000504', 'NIN, BVN', 504, 'The sources are too slow: `source_timeout`.'],
  ['08000000000', 'phone', 422, 'Never matches, whoever is asked for: `not_verified`.'],
] as const

export const toSandboxNumbers = (): Chapter => ({
  id: 'sandbox-numbers',
  title: 'Sandbox numbers',
  body: html`
<p>With a test key, every well-formed number is a synthetic person, always the same one, who has the phone you ask
for. These numbers bring about the rest:</p>
<table class="numbers">
<thead><tr><th scope="col">Number<th scope="col">As<th scope="col">Status<th scope="col">What happens</thead>
<tbody>${NUMBERS.map(
    ([number, use, status, effect]) => html`
<tr><th scope="row"><code>${number}</code><td class="short">${use}<td class="short"><b class="status s${Math.floor(status / 100)}">${status}</b>
<td class="rest">${toInline(effect)}`,
  )}</tbody>
</table>`,
})
