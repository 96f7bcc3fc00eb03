import { type Html, html } from './html.ts'
import { type Endpoint, jsonOf, type Schema } from './open-api.ts'
import { toInline } from './prose.ts'

type Inputs = Pick<Endpoint, 'parameters' | 'requestBody'>

type Input = {
  readonly name: string
  readonly places: readonly string[]
  readonly required: boolean
  readonly schema: Schema
}

export function toInputsTable(endpoint: Inputs): Html {
  const inputs = listInputs(endpoint)
  if (inputs.length === 0) return html`<p class="none">None.</p>`
  return html`<table class="inputs">
<thead><tr><th scope="col">Name<th scope="col">Required<th scope="col">Where<th scope="col">Rule</thead>
<tbody>${inputs.map(toRow)}</tbody>
</table>`
}

/** An input that can be sent in two places is one input. It is required if either place requires it. */
function listInputs({ parameters = [], requestBody }: Inputs): Input[] {
  const inputs = new Map<string, Input>()
  const schema = jsonOf(requestBody)?.schema
  // The inputs of a list are those of its rows.
  const body = schema?.items ?? schema
  for (const [name, schema] of Object.entries(body?.properties ?? {}))
    inputs.set(name, { name, places: ['body'], required: body?.required?.includes(name) ?? false, schema })
  for (const { name, in: place, required = false, schema, description, example } of parameters) {
    const known = inputs.get(name)
    const places = [...(known?.places ?? []), place]
    // Headers have their description and example in the parameter, other inputs in the schema.
    const described = {
      ...(description !== undefined && { description }),
      ...(example !== undefined && { examples: [example] }),
      ...schema,
    }
    inputs.set(name, { name, places, required: required || (known?.required ?? false), schema: described })
  }
  return [...inputs.values()]
}

const toRow = ({ name, required, places, schema }: Input) => html`
<tr><th scope="row"><code>${name}</code>
<td class="short">${required ? html`<b class="tag must">required</b>` : html`<span class="tag">optional</span>`}
<td class="short">${places.join(' or ')}
<td class="rest">${toInline(schema.description)}${schema['x-pii'] === true && html` ${PERSONAL}`}${toRule(schema)}`

const toRule = ({ 'x-rule': rule, examples = [] }: Schema) =>
  html`${rule !== undefined && html`<small>It ${toInline(rule)}.</small>`}${
    examples.length > 0 && html`<small>Example: <code>${String(examples[0])}</code></small>`
  }`

/** Marks a field with personal data. */
export const PERSONAL = html`<span class="tag pii" title="Personal data">personal</span>`
