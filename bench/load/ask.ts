/** What is asked again and again. */
export type Ask =
  | { readonly method: 'GET'; readonly path: string; readonly key: string; readonly connections?: number }
  | {
      readonly method: 'POST'
      readonly path: string
      readonly key: string
      readonly field: 'nin' | 'bvn'
      /** How many people there are to ask about; 0: any number will do, and each is asked once. */
      readonly count: number
      /** Each request with an Idempotency-Key of its own. */
      readonly isIdempotent?: boolean
      readonly connections?: number
    }

/** The number and the phone of a person whom the registry of the bench holds. */
export const FIRST_NIN = 10_000_000_000
export const toPhoneCore = (index: number) => `803${String(index % 1e7).padStart(7, '0')}`

/** One request, for whoever asks without a load generator. */
export function toBody(ask: Extract<Ask, { method: 'POST' }>, index: number): string {
  const isKnown = ask.count > 0
  const number = isKnown ? FIRST_NIN + (index % ask.count) : 2 * FIRST_NIN + index
  const phone = isKnown ? `0${toPhoneCore(index % ask.count)}` : '08031234567'
  const amount = ask.field === 'bvn' ? { amount: '100.00' } : {}
  return JSON.stringify({ [ask.field]: String(number), phone, ...amount })
}

export async function askOnce(port: number, ask: Ask, index = 0): Promise<Response> {
  return await fetch(`http://127.0.0.1:${port}${ask.path}`, {
    method: ask.method,
    headers: { authorization: `Bearer ${ask.key}`, 'content-type': 'application/json' },
    ...(ask.method === 'POST' ? { body: toBody(ask, index) } : {}),
  })
}
