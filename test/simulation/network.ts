import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { processOf, type SimulatedProcess, world } from './world.ts'

export type NetworkRequest = {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly from: string
}

/** What becomes of a request after a server has received it. */
export type NetworkReply =
  | {
      readonly kind: 'answer'
      readonly afterMs: number
      readonly status: number
      readonly body: string
      readonly headers?: Record<string, string>
    }
  /** The connection breaks, before or in the middle of the answer. */
  | { readonly kind: 'reset'; readonly afterMs: number; readonly partOf?: string }
  | { readonly kind: 'silence' }

export type Server = (request: NetworkRequest) => NetworkReply

/** A connection that cannot be made. The request has certainly not arrived. */
export type Unreachable = { readonly code: string; readonly afterMs: number }

class Network {
  readonly #servers = new Map<string, Server>()
  /** For each origin: whether it can be reached now. */
  unreachable: (origin: string) => Unreachable | undefined = () => undefined

  begin(): void {
    this.#servers.clear()
    this.unreachable = () => undefined
  }

  listen(origin: string, server: Server): void {
    this.#servers.set(origin, server)
  }

  send(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const { random } = world()
    const owner = processOf.getStore()
    const origin = String(options.origin)
    let failure: Error | undefined
    const controller = {
      aborted: false,
      abort: (reason: Error) => {
        if (failure) return
        failure = reason ?? new Error('aborted')
        controller.aborted = true
        world().after(0, () => handler.onResponseError?.(controller as never, failure as Error))
      },
      paused: false,
      reason: null,
      pause: () => {},
      resume: () => {},
    }
    const fail = (error: Error) => {
      failure = error
      handler.onResponseError?.(controller as never, error)
    }
    const unreachable = this.unreachable(origin)
    if (unreachable)
      return void world().after(unreachable.afterMs, () => failure || fail(toError(unreachable.code)))
    world().after(random.between(0.1, 3), () => {
      if (failure) return
      handler.onRequestStart?.(controller as never, undefined)
      if (failure) return
      const request = toRequest(options, owner)
      // The request is on its way: it arrives, whatever becomes of the process that sent it.
      processOf.exit(() =>
        world().after(random.between(0.1, 4), () => {
          const reply = this.#servers.get(origin)?.(request) ?? { kind: 'reset', afterMs: 0 }
          if (reply.kind === 'silence') return
          const run = () => deliver(reply, handler, controller, () => failure !== undefined, fail)
          const arrive = () => {
            if (owner?.isAlive !== false && !failure) owner ? processOf.run(owner, run) : run()
          }
          world().after(reply.afterMs, arrive)
        }),
      )
    })
  }

  /** undici's `request`, as far as the product uses it. */
  request(
    dispatch: Dispatcher.Dispatch,
    options: Dispatcher.RequestOptions & { readonly opaque?: unknown },
  ): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const signal = options.signal as AbortSignal | undefined
    const pieces: Buffer[] = []
    let head = { statusCode: 0, headers: {} as object }
    dispatch(options as never, {
      onRequestStart: (controller) => {
        signal?.addEventListener('abort', () => controller.abort(signal.reason as Error))
        if (signal?.aborted) controller.abort(signal.reason as Error)
      },
      onResponseStart: (_controller, statusCode, headers) => {
        head = { statusCode, headers }
      },
      onResponseData: (_controller, piece) => void pieces.push(piece),
      onResponseEnd: () => resolve({ ...head, body: Readable.from(pieces) }),
      onResponseError: (_controller, error) => reject(error),
    })
    signal?.addEventListener('abort', () => reject(signal.reason))
    return promise
  }
}

export const network = new Network()

const toError = (code: string) => Object.assign(new Error(code), { code })

function toRequest(options: Dispatcher.DispatchOptions, owner: SimulatedProcess | undefined): NetworkRequest {
  const headers = Object.fromEntries(
    Object.entries((options.headers ?? {}) as Record<string, string>).map(([name, value]) => [
      name.toLowerCase(),
      String(value),
    ]),
  )
  return {
    url: new URL(options.path, String(options.origin)),
    method: options.method,
    headers,
    body: options.body === null || options.body === undefined ? '' : String(options.body),
    from: owner?.name ?? '',
  }
}

function deliver(
  reply: Exclude<NetworkReply, { kind: 'silence' }>,
  handler: Dispatcher.DispatchHandler,
  controller: object,
  isOver: () => boolean,
  fail: (error: Error) => void,
): void {
  if (reply.kind === 'reset') {
    if (reply.partOf !== undefined) {
      handler.onResponseStart?.(controller as never, 200, { 'content-type': 'application/json' }, 'OK')
      if (!isOver()) handler.onResponseData?.(controller as never, Buffer.from(reply.partOf))
    }
    if (!isOver()) fail(toError('ECONNRESET'))
    return
  }
  handler.onResponseStart?.(
    controller as never,
    reply.status,
    { 'content-type': 'application/json', ...reply.headers },
    '',
  )
  if (!isOver()) handler.onResponseData?.(controller as never, Buffer.from(reply.body))
  if (!isOver()) handler.onResponseEnd?.(controller as never, {})
}
