import type { Context } from '../context.ts'
import { AppError } from '../errors.ts'
import { openMediaToken } from '../registry/media-link.ts'
import { drawPortrait } from '../sources/sandbox/portrait.ts'
import type { App } from './app.ts'
import { toTextReply } from './exchange.ts'
import { withPlace } from './places.ts'

const PNG_FIRST_BYTE = 0x89

/** Pictures that answers link to. Browsers send no key, so the address itself is the right to see one. */
export function addMedia(app: App, { registry, keyring, audit, overload }: Context): void {
  const show = async (token: string) => {
    audit.requireHealthy()
    const id = openMediaToken(keyring()['media-url'], token)
    const picture = id && (await registry.findPicture(id))
    if (!picture) throw new AppError('not_found')
    return toTextReply(picture[0] === PNG_FIRST_BYTE ? 'image/png' : 'image/jpeg', picture, [
      'cache-control',
      'no-store',
      'content-security-policy',
      "default-src 'none'; sandbox",
      'x-content-type-options',
      'nosniff',
    ])
  }
  app.route({
    methods: ['GET'],
    path: '/media/:token',
    operation: 'picture',
    answer: (exchange) => withPlace(overload, exchange, () => show(exchange.params.token ?? '')),
  })
  // A portrait's address names a drawing, not a person, so anybody may see it.
  app.route({
    methods: ['GET'],
    path: '/media/sandbox/:file',
    operation: 'portrait',
    answer: ({ params }) => {
      const portrait = drawPortrait((params.file ?? '').replace(/\.svg$/, ''))
      if (portrait === undefined) throw new AppError('not_found')
      return toTextReply('image/svg+xml; charset=utf-8', portrait, [
        'cache-control',
        'public, max-age=86400',
        'content-security-policy',
        "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        'x-content-type-options',
        'nosniff',
      ])
    },
  })
}
