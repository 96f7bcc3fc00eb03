import { world } from '../world.ts'

type Options = { readonly signal?: AbortSignal }

const wait = <T>(ms: number, value: T, { signal }: Options = {}): Promise<T> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const cancel = world().after(ms, () => resolve(value))
    signal?.addEventListener('abort', () => {
      cancel()
      reject(signal.reason)
    })
  })

export const setTimeout = <T>(ms = 1, value?: T, options?: Options): Promise<T | undefined> =>
  wait(Math.max(1, ms) + world().random.between(0, 1.5), value, options)

export const setImmediate = <T>(value?: T, options?: Options): Promise<T | undefined> =>
  wait(0, value, options)
