import { type Html, html } from './html.ts'
import { PERSONAL } from './inputs-table.ts'
import type { Schema } from './open-api.ts'
import { toInline } from './prose.ts'

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
<tbody>${fields.map((field) => toRow(field, hasPersonal))}</tbody>
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

const toRow = ({ name, path, depth, optional, schema }: Field, hasPersonal: boolean) => html`
<tr style="--depth:${depth}"${isParent(schema) && PARENT}>
<th scope="row"><span class="vh">${path}</span><code>${name}</code>
<td class="type">${toType(schema)}${isNullable(schema) && html` <span class="tag null">nullable</span>`}${
  optional && html` <span class="tag">optional</span>`
}${toChoices(schema)}
<td class="rest">${toInline(schema.description)}${
  hasPersonal && html`<td class="mark">${schema['x-pii'] === true && PERSONAL}`
}`

const PARENT = html` class="parent"`
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
