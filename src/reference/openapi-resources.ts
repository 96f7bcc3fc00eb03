import type { ResourceOperation } from '../operations/operation.ts'
import { toFailures, toPath } from './openapi-failures.ts'
import { headerRefs } from './openapi-headers.ts'

type Json = Record<string, unknown>

/** The paths of operations on what callers have created. Several methods may share a path. */
export function toResourcePaths(operations: readonly ResourceOperation[]): Json {
  const byPath = Map.groupBy(operations, toPath)
  return Object.fromEntries(
    [...byPath].map(([path, methods]) => [
      path,
      Object.fromEntries(
        methods.map((operation) => [operation.method.toLowerCase(), toOperation(operation)]),
      ),
    ]),
  )
}

function toOperation(operation: ResourceOperation): Json {
  const { operationId, tag, summary, description, scope, headers = [], requestBody, responses } = operation
  const parameters = [...toPathParameters(operation), ...headers]
  const successes = Object.entries(responses).map(([status, response]) => [
    status,
    { ...response, headers: headerRefs('X-Request-Id', 'RateLimit', 'RateLimit-Policy') },
  ])
  return {
    operationId,
    tags: [tag],
    summary,
    description: `${description}\n\nScope: ${scope.map((each) => `\`${each}\``).join(' or ')}.`,
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: { ...Object.fromEntries(successes), ...toFailures(operation) },
  }
}

const toPathParameters = ({ path, id }: ResourceOperation): Json[] =>
  [...path.matchAll(/:([a-z]+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    description: id?.description,
    schema: { type: 'string', examples: [id?.example] },
  }))
