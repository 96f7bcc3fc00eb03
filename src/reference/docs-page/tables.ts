import { type Html, html, toInline } from './html.ts'
import { type Endpoint, jsonOf, type Schema } from './open-api.ts'

type Field = {
  readonly name: string
  /** Path of the parents, for screen readers; the page shows it by the indent. */
  readonly path: string
  readonly depth: number
  readonly optional: boolean
  readonly schema: Schema
}

/** The fields of a response, parents first. */
export const toFieldsTable = (schema: Schema | undefined): Html => {
  const fields = listFields(schema)
  const hasPersonal = fields.some((field) => field.schema['x-pii'])
  return html`<table class="fields">
<thead><tr><th scope="col">Field<th scope="col">Type<th scope="col">Meaning${hasPersonal && PERSONAL_HEADING}</thead>
<tbody>${fields.map((field) => toFieldRow(field, hasPersonal))}</tbody>
</table>`
}

const PERSONAL_HEADING = html`<th scope="col" class="mark">Privacy`

function listFields(schema: Schema | undefined, path = '', depth = 0): Field[] {
  const { properties = {}, required = [] } = schema ?? {}
  return Object.entries(properties).flatMap(([name, field]) => [
    { name, path, depth, optional: !required.includes(name), schema: field },
    ...listFields(field.items ?? field, `${path}${name}${field.items ? '[]' : ''}.`, depth + 1),
  ])
}

const toFieldRow = ({ name, path, depth, optional, schema }: Field, hasPersonal: boolean) => html`
<tr class="depth-${depth}${isParent(schema) && ' parent'}">
<th scope="row"><span class="vh">${path}</span><code>${name}</code>
<td class="type">${toType(schema)}${isNullable(schema) && html` <span class="tag null">nullable</span>`}${
  optional && html` <span class="tag">optional</span>`
}${toChoices(schema)}
<td class="rest">${toInline(schema.description)}${
  hasPersonal && html`<td class="mark">${schema['x-pii'] === true && PERSONAL}`
}`

const isParent = ({ properties, items }: Schema) => (items?.properties ?? properties) !== undefined
const typesOf = ({ type = 'any' }: Schema) => (typeof type === 'string' ? [type] : type)
const isNullable = (schema: Schema) => typesOf(schema).includes('null')

function toType(schema: Schema): string {
  const types = typesOf(schema).filter((type) => type !== 'null')
  return types.map((type) => (type === 'array' ? toArrayType(schema) : type)).join(' or ')
}

const toArrayType = ({ items }: Schema) => (items ? `array of ${toType(items)}s` : 'array')

function toChoices({ const: only, enum: choices = [] }: Schema): Html | false {
  if (only !== undefined) return html`, always <code>${JSON.stringify(only)}</code>`
  if (choices.length === 0) return false
  if (choices.length > 8) return html`<small>one of ${choices.length} values</small>`
  return html`<small>one of ${choices.map((choice) => html`<code>${JSON.stringify(choice)}</code> `)}</small>`
}

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
<tbody>${inputs.map(toInputRow)}</tbody>
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

const toInputRow = ({ name, required, places, schema }: Input) => html`
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

type ErrorLine = {
  readonly status: string
  readonly code: string
  readonly message: string
  readonly retryable: boolean
}

export const toErrorsTable = (lines: readonly ErrorLine[]): Html => html`<table class="errors">
<thead><tr><th scope="col">Status<th scope="col">Code<th scope="col">Message<th scope="col" class="mark">Retry</thead>
<tbody>${lines.map(toErrorRow)}</tbody>
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

const toErrorRow = ({ status, code, message, retryable }: ErrorLine) => html`
<tr><td><b class="status s${status.slice(0, 1)}">${status}</b>
<th scope="row"><code>${code}</code>
<td class="rest">${toInline(message)}
<td class="mark">${retryable ? html`<b class="tag again">retry</b>` : html`<span class="tag">no retry</span>`}`
