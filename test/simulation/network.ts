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

export type NetworkAnswer = {
  readonly kind: 'answer'
  readonly afterMs: number
  readonly status: number
  readonly body: string
  readonly headers?: Record<string, string>
  /** How long the body takes, piece by piece. At once if it is absent. */
  readonly lastsMs?: number
}

/** What becomes of a request after a server has received it. */
export type NetworkReply =
  | NetworkAnswer
  /** The connection breaks, before or in the middle of the answer. */
  | { readonly kind: 'reset'; readonly afterMs: number; readonly partOf?: string }
  /** Nothing comes, or nothing more. */
  | { readonly kind: 'silence'; readonly partOf?: string }

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
          if (reply.kind === 'silence' && reply.partOf === undefined) return
          const arrive = (run: () => void) => () => {
            if (owner?.isAlive !== false && !failure) owner ? processOf.run(owner, run) : run()
          }
          const steps = toSteps(reply, handler, controller, () => failure !== undefined, fail)
          for (const { afterMs, run } of steps) world().after(afterMs, arrive(run))
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

type Step = { readonly afterMs: number; readonly run: () => void }

/** What arrives at the client, and when. */
function toSteps(
  reply: NetworkReply,
  handler: Dispatcher.DispatchHandler,
  controller: object,
  isOver: () => boolean,
  fail: (error: Error) => void,
): Step[] {
  const start = (status: number, headers = {}) =>
    handler.onResponseStart?.(
      controller as never,
      status,
      { 'content-type': 'application/json', ...headers },
      '',
    )
  const send = (text: string) => {
    if (!isOver()) handler.onResponseData?.(controller as never, Buffer.from(text))
  }
  const end = () => {
    if (!isOver()) handler.onResponseEnd?.(controller as never, {})
  }
  if (reply.kind !== 'answer') {
    const { partOf } = reply
    const run = () => {
      if (partOf !== undefined) {
        start(200)
        send(partOf)
      }
      if (reply.kind === 'reset' && !isOver()) fail(toError('ECONNRESET'))
    }
    return [{ afterMs: reply.kind === 'reset' ? reply.afterMs : 0, run }]
  }
  const { afterMs, lastsMs, status, headers, body } = reply
  const atOnce = () => {
    start(status, headers)
    send(body)
    end()
  }
  if (lastsMs === undefined) return [{ afterMs, run: atOnce }]
  const size = Math.ceil(body.length / PIECES)
  const pieces = Array.from({ length: PIECES }, (_each, index) => ({
    afterMs: afterMs + (lastsMs * (index + 1)) / PIECES,
    run: () => {
      send(body.slice(index * size, (index + 1) * size))
      if (index === PIECES - 1) end()
    },
  }))
  return [{ afterMs, run: () => start(status, headers) }, ...pieces]
}

const PIECES = 10
