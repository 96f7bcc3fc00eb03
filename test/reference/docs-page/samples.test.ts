import { expect, test } from 'vitest'
import { SANDBOX_KEY } from '../../../src/keys/sandbox-key.ts'
import { listCurls, listSamples } from '../../../src/reference/docs-page/samples.ts'

const endpoint = { operationId: 'x', server: 'http://h', method: 'POST', path: '/x', responses: {} }

test('a quote in a body does not end the argument', () => {
  const requestBody = { content: { 'application/json': { example: { name: "O'Neil" } } } }
  expect(listCurls({ ...endpoint, requestBody })).toEqual([
    {
      title: 'curl',
      command: `curl -s 'http://h/x' \\
  -H 'Authorization: Bearer ${SANDBOX_KEY}' \\
  -H 'Content-Type: application/json' \\
  -d '{"name":"O'\\''Neil"}'`,
    },
  ])
})

test('a path parameter is filled with its example, encoded', () => {
  const parameters = [{ name: 'id', in: 'path', schema: { examples: ['a/b c'] } }]
  const [curl] = listCurls({ ...endpoint, method: 'GET', path: '/x/{id}', parameters })
  expect(curl?.command).toMatch(/^curl -s 'http:\/\/h\/x\/a%2Fb%20c' \\\n/)
})

test('fetch does not send a body on to another host', () => {
  const requestBody = { content: { 'application/json': { example: { nin: '12345678901' } } } }
  const sample = listSamples({ ...endpoint, requestBody }).at(-1)
  expect(sample?.language).toBe('TypeScript, without a client')
  expect(sample?.code).toContain("  redirect: 'error',")
})
