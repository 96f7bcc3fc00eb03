import type { FastifyInstance } from 'fastify'
import { AppError } from '../errors.ts'
import { drawPortrait } from '../sources/sandbox/portrait.ts'

/** Pictures that answers link to. A portrait's address names a drawing, not a person, so it needs no key. */
export function addMedia(app: FastifyInstance): void {
  app.get<{ Params: { file: string } }>(
    '/media/sandbox/:file',
    { config: { operation: 'portrait' } },
    async ({ params }, reply) => {
      const portrait = drawPortrait(params.file.replace(/\.svg$/, ''))
      if (portrait === undefined) throw new AppError('not_found')
      return reply
        .type('image/svg+xml; charset=utf-8')
        .header('cache-control', 'public, max-age=86400')
        .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox")
        .header('x-content-type-options', 'nosniff')
        .send(portrait)
    },
  )
}
