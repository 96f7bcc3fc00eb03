import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { toDocsPage } from '../docs-page.ts'

const OPENAPI_FILE = new URL('../../openapi.json', import.meta.url)

/** The description of the API, for programs and for people. The page loads nothing, from nowhere. */
export function addDocs(app: FastifyInstance): void {
  const openApi = readFileSync(OPENAPI_FILE, 'utf8')
  const page = Buffer.from(toDocsPage(JSON.parse(openApi)))
  const config = { operation: 'docs' }
  app.get('/openapi.json', { config }, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').header('access-control-allow-origin', '*').send(openApi),
  )
  app.get('/docs', { config }, async (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header(
        'content-security-policy',
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      )
      .header('x-content-type-options', 'nosniff')
      .send(page),
  )
}
