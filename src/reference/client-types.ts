type Json = { readonly [name: string]: unknown }

type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly description?: string
}

type Media = { readonly schema?: Schema }
type Operation = {
  readonly operationId: string
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>
}

/** The schemas of an OpenAPI document as TypeScript, for the typed client. */
export function toClientTypes(document: Json): string {
  // As it is published: schemas have hidden properties of their library.
  const { paths, components } = JSON.parse(JSON.stringify(document)) as {
    paths: Record<string, Record<string, Operation>>
    components: { schemas: Record<string, Schema> }
  }
  const inline = Object.values(paths).flatMap((item) => Object.values(item).flatMap(listInlineSchemas))
  const schemas = [...Object.entries(components.schemas), ...inline]
  const fields = schemas.map(([name, schema]) => toField(name, schema, '  ', true))
  return `// Made by npm run generate from openapi.json. Do not edit.\n\n/** The bodies of requests and responses. */\nexport type Schemas = {\n${fields.join('')}}\n`
}

/** Bodies that have no name in the document are called after their operation. */
function listInlineSchemas({ operationId, requestBody, responses }: Operation): [string, Schema][] {
  const name = operationId.charAt(0).toUpperCase() + operationId.slice(1)
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]
  const bodies = [
    [`${name}Request`, requestBody?.content],
    [`${name}Response`, success?.content],
  ] as const
  return bodies.flatMap(([body, content = {}]) => {
    const schema = (content['application/json'] ?? content['application/x-ndjson'])?.schema
    return schema && schema.$ref === undefined ? [[body, schema] as [string, Schema]] : []
  })
}

function toType(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return `Schemas['${schema.$ref.split('/').at(-1)}']`
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return toUnion(schema.enum.map((each) => JSON.stringify(each)))
  if (schema.anyOf) return toUnion(schema.anyOf.map((each) => toType(each, indent)))
  if (schema.properties) return toObjectType(schema, indent)
  return toUnion([schema.type ?? 'unknown'].flat().map((type) => toSimpleType(type, schema, indent)))
}

const toUnion = (types: readonly string[]) => [...new Set(types)].join(' | ')

function toSimpleType(type: string, { items, additionalProperties }: Schema, indent: string): string {
  if (type === 'integer') return 'number'
  if (type === 'array') return `(${items ? toType(items, indent) : 'unknown'})[]`
  if (type !== 'object') return type
  const values = typeof additionalProperties === 'object' ? toType(additionalProperties, indent) : 'unknown'
  return `{ [name: string]: ${values} }`
}

/** Unknown fields are accepted by the server but not by the type, which finds misspelt names. */
function toObjectType({ properties = {}, required = [] }: Schema, indent: string): string {
  const fields = Object.entries(properties).map(([name, schema]) =>
    toField(name, schema, `${indent}  `, required.includes(name)),
  )
  return `{\n${fields.join('')}${indent}}`
}

function toField(name: string, schema: Schema, indent: string, isRequired: boolean): string {
  const comment = schema.description?.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ')
  const key = /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)
  const type = toType(schema, indent)
  return `${comment ? `${indent}/** ${comment} */\n` : ''}${indent}${key}${isRequired ? '' : '?'}: ${type}\n`
}
