import { AppError } from '../errors.ts'
import type { Scope } from '../keys/api-key.ts'
import type { Exchange, Params, Reply } from './exchange.ts'

/** What is answered at an address. A GET answers HEAD as well. */
export type Route = {
  readonly methods: readonly string[]
  /** Segments that begin with a colon take any text. */
  readonly path: string
  /** In logs and metrics. */
  readonly operation: string
  /** What a key must be allowed; without it, everybody may ask. */
  readonly scope?: Scope
  readonly answer: (exchange: Exchange) => Reply | Promise<Reply>
}

export type Router = {
  readonly add: (route: Route) => void
  /** The route, with the exchange told what its path says; `not_found` or `method_not_allowed` otherwise. */
  readonly find: (exchange: Exchange) => Route
}

type Pattern = { readonly regex: RegExp; readonly names: readonly string[]; readonly routes: Route[] }

export function createRouter(): Router {
  const fixed = new Map<string, Route[]>()
  const patterns: Pattern[] = []

  const findPattern = (exchange: Exchange, path: string): readonly Route[] | undefined => {
    for (const { regex, names, routes } of patterns) {
      const match = regex.exec(path)
      if (!match) continue
      exchange.params = toParams(names, match)
      return routes
    }
    return undefined
  }

  return {
    add: (route) => {
      if (!route.path.includes(':')) {
        fixed.set(route.path, [...(fixed.get(route.path) ?? []), route])
        return
      }
      const regex = toRegex(route.path)
      const known = patterns.find((pattern) => pattern.regex.source === regex.source)
      if (known) known.routes.push(route)
      else patterns.push({ regex, names: toNames(route.path), routes: [route] })
    },
    find: (exchange) => {
      const path = toPlainPath(exchange.path)
      const routes = fixed.get(path) ?? findPattern(exchange, path)
      if (!routes) throw new AppError('not_found')
      const method = exchange.raw.method ?? ''
      const route = routes.find(({ methods }) => methods.includes(method === 'HEAD' ? 'GET' : method))
      if (!route) throw new AppError('method_not_allowed', { headers: { allow: toAllow(routes) } })
      return route
    },
  }
}

const toRegex = (path: string) =>
  new RegExp(`^${path.replaceAll('.', '\\.').replace(/:[a-z]+/g, '([^/]+)')}$`)

const toNames = (path: string) => [...path.matchAll(/:([a-z]+)/g)].map(([, name = '']) => name)

const toAllow = (routes: readonly Route[]) =>
  routes
    .flatMap(({ methods }) => methods)
    .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    .join(', ')

/** A proxy may send the whole address, and a client may encode what need not be. */
function toPlainPath(path: string): string {
  const local = path.startsWith('/') ? path : path.replace(/^https?:\/\/[^/]*/i, '')
  return local.includes('%') ? decode(local, decodeURI) : local
}

function toParams(names: readonly string[], match: RegExpExecArray): Params {
  const params: Record<string, string> = {}
  for (let index = 0; index < names.length; index++) {
    const value = match[index + 1] ?? ''
    params[names[index] as string] = value.includes('%') ? decode(value, decodeURIComponent) : value
  }
  return params
}

/** An address that cannot be decoded leads nowhere. */
function decode(text: string, work: (text: string) => string): string {
  try {
    return work(text)
  } catch {
    throw new AppError('not_found')
  }
}
