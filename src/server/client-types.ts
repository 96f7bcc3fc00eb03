type Json = Record<string, unknown>

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
type DescribedOperation = {
  readonly operationId: string
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>
}

/** The schemas of an OpenAPI document as TypeScript, for the typed client. */
export function toClientTypes(document: Json): string {
  const fields = listSchemas(document).map(([name, schema]) => toField(name, schema, '  ', true))
  return `// Made by npm run generate from openapi.json. Do not edit.\n\n/** The bodies of requests and responses. */\nexport type Schemas = {\n${fields.join('')}}\n`
}

function listSchemas(document: Json): [string, Schema][] {
  // As it is published: schemas have hidden properties of their library.
  const { paths, components } = JSON.parse(JSON.stringify(document)) as {
    paths: Record<string, Record<string, DescribedOperation>>
    components: { schemas: Record<string, Schema> }
  }
  const inline = Object.values(paths).flatMap((item) => Object.values(item).flatMap(listInlineSchemas))
  return [...Object.entries(components.schemas), ...inline]
}

/** Bodies that have no name in the document are called after their operation. */
function listInlineSchemas({ operationId, requestBody, responses }: DescribedOperation): [string, Schema][] {
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

/** The types of the client for Python, by the schema and the way into it. The other schemas are inside of them, or not for callers. */
const PYTHON_TYPES: Readonly<Record<string, readonly [schema: string, ...way: string[]]>> = {
  NinPerson: ['VerifyNinResponse', 'data'],
  BvnPerson: ['VerifyBvnResponse', 'data'],
  InternetBundle: ['ListInternetBundlesResponse', 'data', 'data'],
  SmeBundle: ['ListSmeBundlesResponse', 'data'],
  TvAddOn: ['ListTvAddOnsResponse', 'data'],
  BatchRow: ['CreateBatchRequest'],
  NewBatch: ['CreateBatchResponse', 'data'],
  Batch: ['GetBatchResponse', 'data'],
  BatchResult: ['GetBatchResultsResponse'],
}

/** The same as classes of Python 3.9, for the client in packages/python. */
export function toPythonTypes(document: Json): string {
  const schemas = new Map(listSchemas(document))
  const classes = Object.entries(PYTHON_TYPES).flatMap(([name, [schema, ...way]]) => {
    const found = way.reduce<Schema | undefined>((at, step) => at?.properties?.[step], schemas.get(schema))
    return toPythonClass(name, found?.items ?? found ?? {})
  })
  const head = '"""Made by npm run generate from openapi.json. Do not edit."""'
  return `${head}\n\nfrom typing import Any, Dict, List, Literal, Optional, TypedDict\n${classes.join('')}`
}

/** A class after those that its fields need. Python 3.9 has no mark for a single optional field: they are in a class that inherits. */
function toPythonClass(name: string, { properties = {}, required = [] }: Schema): string[] {
  const inner: string[] = []
  const fields = Object.entries(properties).map(([field, schema]) => {
    const comment = schema.description ? `    #: ${schema.description.replaceAll(/\s+/g, ' ')}\n` : ''
    const type = toPythonType(schema, `${name}${toPascal(field)}`, inner)
    return { isRequired: required.includes(field), text: `${comment}    ${field}: ${type}\n` }
  })
  const textOf = (isRequired: boolean) =>
    fields.flatMap((field) => (field.isRequired === isRequired ? [field.text] : [])).join('')
  const [always, sometimes] = [textOf(true), textOf(false)]
  const toClass = (head: string, body: string) => `\n\nclass ${head}:\n${body}`
  if (sometimes === '') return [...inner, toClass(`${name}(TypedDict)`, always)]
  if (always === '') return [...inner, toClass(`${name}(TypedDict, total=False)`, sometimes)]
  const part = `_${name}Always`
  return [
    ...inner,
    toClass(`${part}(TypedDict)`, always),
    toClass(`${name}(${part}, total=False)`, sometimes),
  ]
}

const toPascal = (field: string) =>
  field.replaceAll(/(?:^|_)([a-z])/g, (_all, letter: string) => letter.toUpperCase())

function toPythonType(schema: Schema, name: string, inner: string[]): string {
  if (schema.const !== undefined) return toLiteral([schema.const])
  if (schema.enum) return toLiteral(schema.enum)
  if (schema.properties) {
    inner.push(...toPythonClass(name, schema))
    return name
  }
  const options = schema.anyOf ?? [schema.type ?? 'unknown'].flat().map((type) => ({ ...schema, type }))
  const types = options
    .filter(({ type }) => type !== 'null')
    .map((each) => toOnePythonType(each, name, inner))
  const type = types.length === 1 ? types[0] : 'Any'
  return types.length < options.length ? `Optional[${type}]` : `${type}`
}

const PYTHON_NAMES: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  object: 'Dict[str, Any]',
}

function toOnePythonType(schema: Schema, name: string, inner: string[]): string {
  if (schema.type === 'array') return `List[${toPythonType(schema.items ?? {}, name, inner)}]`
  if (schema.anyOf || schema.properties || schema.enum) return toPythonType(schema, name, inner)
  return PYTHON_NAMES[String(schema.type)] ?? 'Any'
}

/** Booleans are written otherwise in Python. */
const toLiteral = (values: readonly unknown[]) =>
  values.some((value) => typeof value === 'boolean')
    ? 'bool'
    : `Literal[${values.map((value) => JSON.stringify(value)).join(', ')}]`
