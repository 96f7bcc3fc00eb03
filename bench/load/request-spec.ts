/** The request of a variant. */
export type RequestSpec =
  | { readonly method: 'GET'; readonly path: string; readonly key: string; readonly connections?: number }
  | {
      readonly method: 'POST'
      readonly path: string
      readonly key: string
      readonly field: 'nin' | 'bvn'
      /** Number of people in the registry. 0: sandbox, each request has a new number. */
      readonly count: number
      /** Each request with an Idempotency-Key of its own. */
      readonly isIdempotent?: boolean
      readonly connections?: number
    }

/** The number and the phone of a person whom the registry of the bench holds. */
export const FIRST_NIN = 10_000_000_000
export const toPhoneCore = (index: number) => `803${String(index % 1e7).padStart(7, '0')}`

/** The body of one request, for clients other than the load generator. */
export function toBody(spec: Extract<RequestSpec, { method: 'POST' }>, index: number): string {
  const isKnown = spec.count > 0
  const number = isKnown ? FIRST_NIN + (index % spec.count) : 2 * FIRST_NIN + index
  const phone = isKnown ? `0${toPhoneCore(index % spec.count)}` : '08031234567'
  const amount = spec.field === 'bvn' ? { amount: '100.00' } : {}
  return JSON.stringify({ [spec.field]: String(number), phone, ...amount })
}

export async function sendOnce(port: number, spec: RequestSpec, index = 0): Promise<Response> {
  return await fetch(`http://127.0.0.1:${port}${spec.path}`, {
    method: spec.method,
    headers: { authorization: `Bearer ${spec.key}`, 'content-type': 'application/json' },
    ...(spec.method === 'POST' ? { body: toBody(spec, index) } : {}),
  })
}
