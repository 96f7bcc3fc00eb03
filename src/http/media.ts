import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'
import { AppError } from '../errors.ts'
import { openMediaToken } from '../registry/media-link.ts'
import { drawPortrait } from '../sources/sandbox/portrait.ts'

const PNG_FIRST_BYTE = 0x89

/** Pictures that answers link to. Browsers send no key, so the address itself is the right to see one. */
export function addMedia(app: FastifyInstance, { registry, keyring, audit }: Context): void {
  app.get<{ Params: { token: string } }>(
    '/media/:token',
    { config: { operation: 'picture' } },
    async ({ params }, reply) => {
      audit.requireHealthy()
      const id = openMediaToken(keyring()['media-url'], params.token)
      const picture = id && (await registry.findPicture(id))
      if (!picture) throw new AppError('not_found')
      return reply
        .type(picture[0] === PNG_FIRST_BYTE ? 'image/png' : 'image/jpeg')
        .header('cache-control', 'no-store')
        .header('content-security-policy', "default-src 'none'; sandbox")
        .header('x-content-type-options', 'nosniff')
        .send(picture)
    },
  )
  // A portrait's address names a drawing, not a person, so anybody may see it.
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
