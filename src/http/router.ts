import createFindMyWay, { type HTTPMethod } from 'find-my-way'
import type { NeededScope } from '../contract/scope.ts'
import { AppError } from '../errors.ts'
import { createBoundedMap } from '../keys/bounded-map.ts'
import type { Exchange, Params, Reply } from './exchange.ts'
import { nodeHttp } from './node-http.ts'

/** A path and its handler. A GET route answers HEAD as well. */
export type Route = {
  readonly methods: readonly string[]
  /** A segment that begins with a colon is a parameter. */
  readonly path: string
  /** In logs and metrics. */
  readonly operation: string
  /** The scope that the key needs; without it, no key is needed. */
  readonly scope?: NeededScope
  readonly answer: (exchange: Exchange) => Reply | Promise<Reply>
}

type Router = {
  /** Throws when the method and path are taken. */
  readonly add: (route: Route) => void
  /** The route, with the parameters of its path set in the exchange; `not_found` or `method_not_allowed` otherwise. */
  readonly find: (exchange: Exchange) => Route
  /** From now on, a GET of exactly this target finds this route, without parameters. */
  readonly remember: (target: string, route: Route) => void
  /** Every method that some path takes. */
  readonly methods: () => readonly string[]
}

/** A longer parameter is `not_found`. */
const MAX_PARAMETER_LENGTH = 500
/** Bounds the memory of remembered targets. */
const MAX_REMEMBERED = 1000
const MAX_REMEMBERED_LENGTH = 200

export function createRouter(): Router {
  const table = createFindMyWay({ maxParamLength: MAX_PARAMETER_LENGTH })
  const known = new Set<string>()
  const remembered = createBoundedMap<string, Route>(MAX_REMEMBERED)
  const lookUp = (method: string, path: string) => {
    const found = table.find(method as HTTPMethod, path)
    return found && hasEmpty(found.params) ? null : found
  }

  return {
    add: (route) => {
      const methods = route.methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
      for (const method of methods) known.add(method)
      table.on(methods as HTTPMethod[], route.path, () => {}, route)
    },
    find: (exchange) => {
      const { method, url = '' } = exchange.raw
      const exact = method === 'GET' ? remembered.get(url) : undefined
      if (exact) return exact
      const path = toLocalPath(exchange.path)
      const found = lookUp(method ?? '', path)
      if (found) {
        exchange.params = found.params as Params
        return found.store as Route
      }
      const allowed = nodeHttp.METHODS.filter((method) => lookUp(method, path))
      if (allowed.length === 0) throw new AppError('not_found')
      throw new AppError('method_not_allowed', { headers: { allow: allowed.join(', ') } })
    },
    remember: (target, route) => {
      if (target.length <= MAX_REMEMBERED_LENGTH) remembered.set(target, route)
    },
    methods: () => [...known],
  }
}

/** `/keys/` is not `/keys/:id`. */
function hasEmpty(params: Readonly<Record<string, string | undefined>>): boolean {
  for (const name in params) if (params[name] === '') return true
  return false
}

/** A proxy may send an absolute URL. */
const toLocalPath = (path: string) => (path.startsWith('/') ? path : path.replace(/^https?:\/\/[^/]*/i, ''))
