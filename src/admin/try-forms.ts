import type { Context } from '../context/context.ts'
import { TV_TYPES } from '../contract/bundles.ts'
import type { Operation } from '../operations/operation.ts'
import { OPERATIONS } from '../operations/operations.ts'
import { toExampleInput } from '../reference/openapi.ts'
import { SANDBOX_NUMBERS } from '../sources/sandbox/numbers.ts'
import type { TryForm } from './shapes/try.ts'

type Scenario = TryForm['scenarios'][number]
type Lists = Pick<Context, 'catalogue'>

/** A form for each operation, with the field names and descriptions of the contract. */
export const listTryForms = (context: Lists): TryForm[] =>
  OPERATIONS.map((operation) => ({
    operation: operation.name,
    operation_id: operation.operationId,
    method: operation.method,
    path: operation.path,
    input_from: operation.inputFrom,
    summary: operation.summary,
    description: operation.description,
    fields: toFields(operation, context),
    scenarios: toScenarios(operation, context),
  }))

type Shape = { readonly description?: string; readonly examples?: readonly string[] }

function toFields({ request }: Operation, { catalogue }: Lists): TryForm['fields'] {
  const choices: Readonly<Record<string, readonly string[]>> = {
    provider: catalogue.providers,
    type: TV_TYPES,
  }
  const required = request.required as readonly string[]
  return Object.entries(request.properties as Readonly<Record<string, Shape>>).map(
    ([name, { description = '', examples = [] }]) => ({
      name,
      description,
      example: examples[0] ?? '',
      required: required.includes(name),
      choices: choices[name] ? [...choices[name]] : null,
    }),
  )
}

/** Inputs that the page offers as buttons. */
function toScenarios(operation: Operation, { catalogue }: Lists): Scenario[] {
  const example = toExampleInput(operation)
  if (operation.tag === 'Identity') return toSandboxScenarios(example, 'nin' in example ? 'nin' : 'bvn')
  if ('provider' in example)
    return catalogue.providers.map((provider) => ({
      title: `Bundles of ${provider}`,
      input: { provider },
    }))
  if ('productCode' in example)
    return TV_TYPES.flatMap((type) => {
      const product = catalogue.tvProducts.find((known) => known.type === type)
      return product
        ? [{ title: `Add-ons of ${product.name}`, input: { type, productCode: product.code } }]
        : []
    })
  return [{ title: 'All sizes', input: {} }]
}

function toSandboxScenarios(example: Readonly<Record<string, string>>, kind: 'nin' | 'bvn'): Scenario[] {
  const numbers = SANDBOX_NUMBERS.filter(({ use }) => use === 'phone' || use.includes(kind.toUpperCase()))
  return [
    { title: 'Verified: a synthetic person.', input: example },
    ...numbers.map(({ number, use, effect }) => ({
      title: effect.replaceAll('`', ''),
      input: { ...example, [use === 'phone' ? 'phone' : kind]: number },
    })),
  ]
}
