import { describe, expect, it } from 'vitest'
import { AppError } from '../../src/errors.ts'
import { createRouter, type Route } from '../../src/http/app.ts'
import type { Exchange } from '../../src/http/exchange.ts'

const route = (methods: readonly string[], path: string): Route => ({
  methods,
  path,
  operation: `${methods.join()} ${path}`,
  answer: () => ({ status: 200, headers: [], body: '' }),
})

function find(routes: readonly Route[], method: string, path: string) {
  const router = createRouter()
  for (const one of routes) router.add(one)
  const exchange = { raw: { method }, path, params: {} } as unknown as Exchange
  try {
    return { operation: router.find(exchange).operation, params: { ...exchange.params } }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { code: error.code, allow: error.headers.allow }
  }
}

describe('find', () => {
  const key = route(['GET'], '/keys/:keyId')

  it.each([
    ['/keys/a%20b', 'a b'],
    ['/keys/a%2520b', 'a%20b'],
    ['/keys/100%25', '100%'],
    ['/keys/a%2Fb', 'a/b'],
    ['http://other.example/keys/abc', 'abc'],
  ])('decodes %s once', (path, keyId) => {
    expect(find([key], 'GET', path)).toEqual({ operation: key.operation, params: { keyId } })
  })

  it.each(['/keys', '/keys/', '/keys/a/b', '/keys/%', '/keys/%zz', '/KEYS/a', ''])(
    'knows nothing at %s',
    (path) => expect(find([key], 'GET', path)).toMatchObject({ code: 'not_found' }),
  )

  it('prefers a fixed path, and falls back to a pattern for another method', () => {
    const routes = [route(['POST'], '/keys/new'), key]
    expect(find(routes, 'POST', '/keys/new')).toMatchObject({ operation: 'POST /keys/new' })
    expect(find(routes, 'GET', '/keys/new')).toMatchObject({ params: { keyId: 'new' } })
  })

  it('names the methods that are allowed, HEAD beside GET', () => {
    const routes = [key, route(['DELETE'], '/keys/:keyId')]
    expect(find(routes, 'PUT', '/keys/a')).toEqual({
      code: 'method_not_allowed',
      allow: 'DELETE, GET, HEAD',
    })
    expect(find(routes, 'HEAD', '/keys/a')).toMatchObject({ operation: key.operation })
  })
})

it('refuses two routes for one method and path', () => {
  const router = createRouter()
  router.add(route(['GET'], '/a'))
  expect(() => router.add(route(['GET'], '/a'))).toThrow()
})
