import type { Context } from '../context/context.ts'
import { AppError } from '../errors.ts'
import { type Admission, withAdmission } from '../http/admission.ts'
import type { App } from '../http/app.ts'
import { type Reply, toTextReply } from '../http/exchange.ts'
import { toKeyState } from '../keys/key-view.ts'
import { openMediaToken } from '../registry/media-link.ts'
import { drawPortrait } from '../sources/sandbox/portrait.ts'

const PNG_FIRST_BYTE = 0x89
const OPERATION = 'fetch_picture'

/** Pictures that responses link to. Browsers send no key, so the signed address is the credential. */
export function addMedia(app: App, context: Context, admission: Admission): void {
  app.route({
    methods: ['GET'],
    path: '/media/:token',
    operation: OPERATION,
    answer: (exchange) =>
      withAdmission(
        admission,
        exchange,
        (_, token) => fetchPicture(context, token),
        exchange.params.token ?? '',
      ),
  })
  // A sandbox portrait shows no real person: it is public and not audited.
  app.route({
    methods: ['GET'],
    path: '/media/sandbox/:file',
    operation: 'portrait',
    answer: (exchange) =>
      withAdmission(admission, exchange, (_, file) => toPortraitReply(file), exchange.params.file ?? ''),
  })
}

function toPortraitReply(file: string): Reply {
  const portrait = drawPortrait(file.replace(/\.svg$/, ''))
  if (portrait === undefined) throw new AppError('not_found')
  return toTextReply('image/svg+xml; charset=utf-8', portrait, [
    'cache-control',
    'public, max-age=86400',
    'content-security-policy',
    "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    'x-content-type-options',
    'nosniff',
  ])
}

/** A link ends with its key, so the key is looked up at every fetch. The audit row is written before the picture is sent. */
async function fetchPicture(context: Context, token: string): Promise<Reply> {
  const { audit, keyring, store, registry, toSubjectHash } = context
  audit.requireHealthy()
  const link = openMediaToken(keyring()['media-url'], token)
  const key = link && (await store.keys.find(link.keyId))
  if (!key || toKeyState(key) !== 'active') throw new AppError('not_found')
  await requireAllowance(context, key.lineage)
  const picture = await registry.findPicture(link.mediaId)
  if (!picture) throw new AppError('not_found')
  const { bytes, nin } = picture
  const subject = nin === undefined ? null : toSubjectHash('nin', nin)
  const about = { key_id: key.id, mode: key.mode, operation: OPERATION, subject }
  await audit.record([{ phase: 'picture_fetched', ...about, outcome: 'ok' }])
  return toTextReply(bytes[0] === PNG_FIRST_BYTE ? 'image/png' : 'image/jpeg', bytes, [
    'cache-control',
    'no-store',
    'content-security-policy',
    "default-src 'none'; sandbox",
    'x-content-type-options',
    'nosniff',
  ])
}

/**
 * Each fetch writes to the audit log, so fetches are limited. They are counted apart from requests: a leaked link does not use
 * up the rate limit of its key.
 */
async function requireAllowance({ rateLimit }: Context, lineage: string): Promise<void> {
  const allowance = await rateLimit?.take(`picture:${lineage}`)
  if (allowance && !allowance.allowed)
    throw new AppError('rate_limited', { headers: { 'retry-after': String(allowance.resetS) } })
}
