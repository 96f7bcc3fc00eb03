import { SANDBOX_KEY } from '../../keys/sandbox-key.ts'
import { type Endpoint, jsonOf } from './open-api.ts'

type Inputs = Readonly<Record<string, string>>
type ToCall = (inputs: Inputs, body: string) => string

/** The call of the typed client for each operation. A test fails when one is missing. */
const CALLS: Readonly<Record<string, ToCall>> = {
  verifyNin: (_inputs, body) => `await tabbat.verifyNin(${body})`,
  verifyBvn: (_inputs, body) => `await tabbat.verifyBvn(${body})`,
  listInternetBundles: ({ provider }) => `await tabbat.listInternetBundles(${quote(provider)})`,
  listSmeBundles: () => 'await tabbat.listSmeBundles()',
  listTvAddOns: ({ type, productCode }) =>
    `await tabbat.listTvAddOns({ type: ${quote(type)}, productCode: ${quote(productCode)} })`,
  getVerification: ({ reference }) => `await tabbat.pending.get(${quote(reference)})`,
  cancelVerification: ({ reference }) => `await tabbat.pending.cancel(${quote(reference)})`,
  createBatch: (_inputs, body) => `await tabbat.batches.create(${body})`,
  getBatch: ({ id }) => `await tabbat.batches.get(${quote(id)})`,
  getBatchResults: ({ id }) =>
    `for await (const row of tabbat.batches.results(${quote(id)})) console.log(row)`,
  cancelBatch: ({ id }) => `await tabbat.batches.cancel(${quote(id)})`,
}

const quote = (text = '') => `'${text.replace(/[\\']/g, String.raw`\$&`)}'`

/** The example call with the typed client, which makes Idempotency-Keys and retries by itself. Undefined if it has no such call. */
export function toClientSample({
  operationId,
  server,
  parameters = [],
  requestBody,
}: Endpoint): string | undefined {
  const toCall = CALLS[operationId]
  if (!toCall) return undefined
  const inputs = Object.fromEntries(
    parameters.map(({ name, schema }) => [name, String(schema?.examples?.[0] ?? '')]),
  )
  const call = toCall(inputs, toLiteral(jsonOf(requestBody)?.example))
  return [
    "import { createTabbat } from '@tabbat/client' // packages/client of the source",
    '',
    `const tabbat = createTabbat({ key: ${quote(SANDBOX_KEY)}, baseUrl: ${quote(server)} })`,
    call.startsWith('for ') ? call : `console.log(${call})`,
  ].join('\n')
}

/** As a person writes it: names without quotes. */
const toLiteral = (value: unknown): string =>
  Array.isArray(value)
    ? `[${value.map(toLiteral).join(', ')}]`
    : `{ ${Object.entries(Object(value))
        .map(([name, each]) => `${name}: ${quote(String(each))}`)
        .join(', ')} }`
