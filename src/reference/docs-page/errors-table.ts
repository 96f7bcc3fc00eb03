import { type Html, html } from './html.ts'
import { type Endpoint, jsonOf } from './open-api.ts'
import { toInline } from './prose.ts'

type ErrorLine = {
  readonly status: string
  readonly code: string
  readonly message: string
  readonly retryable: boolean
}

export const toErrorsTable = (lines: readonly ErrorLine[]): Html => html`<table class="errors">
<thead><tr><th scope="col">Status<th scope="col">Code<th scope="col">Message<th scope="col" class="mark">Retry</thead>
<tbody>${lines.map(toRow)}</tbody>
</table>`

/** The errors of one operation, from the examples in the document. */
export const listErrors = ({ responses }: Endpoint): ErrorLine[] =>
  Object.entries(responses)
    .filter(([status]) => !status.startsWith('2'))
    .flatMap(([status, response]) =>
      Object.entries(jsonOf(response)?.examples ?? {}).map(([code, { value }]) => {
        const { message = '', retryable = false } = value as Partial<ErrorLine>
        return { status, code, message, retryable }
      }),
    )

const toRow = ({ status, code, message, retryable }: ErrorLine) => html`
<tr><td><b class="status s${status.slice(0, 1)}">${status}</b>
<th scope="row"><code>${code}</code>
<td class="rest">${toInline(message)}
<td class="mark">${retryable ? html`<b class="tag again">retry</b>` : html`<span class="tag">no retry</span>`}`
