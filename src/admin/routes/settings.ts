import type { Context } from '../../context/context.ts'
import { listWarnings } from '../../context/warnings.ts'
import { VERSION } from '../../version.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { SettingsView } from '../shapes/settings.ts'

const view = defineRoute({
  name: 'view_settings',
  tag: 'Settings',
  method: 'GET',
  path: '/admin/settings',
  summary: 'Settings with their origin, and the state of the server. Contains no secrets.',
  role: 'viewer',
  output: SettingsView,
  run: async ({ context }) => {
    const { config, store, audit, lifecycle } = context
    const isWritable = await audit.check()
    return {
      version: VERSION,
      node_version: process.version,
      started_at: new Date(Date.now() - process.uptime() * 1000).toISOString(),
      database: store.place,
      settings: config.shownSettings.map(({ name, about, isSecret, value = null, origin }) => ({
        name,
        about,
        is_secret: isSecret,
        value: value && withoutLogin(value),
        origin,
      })),
      health: { ready: isWritable && !lifecycle.stopping, audit: isWritable, workers: config.workers },
      root_key: {
        version: context.keyring().version,
        origin: toRootKeyOrigin(context),
        rotation_in_progress: (await store.meta.read()).root_previous_fingerprint !== undefined,
      },
      checkpoints: {
        last_at: (await store.audit.lastCheckpoint())?.time ?? null,
        folder: config.checkpointDir ?? config.dataDir,
      },
      warnings: listWarnings(context),
    }
  },
})

/** Removes user name and password from URLs. */
const withoutLogin = (text: string) => text.replaceAll(/\/\/[^/\s]*@/g, '//')

function toRootKeyOrigin({ rootKeys, config }: Context): string {
  if (rootKeys.origin !== 'setting') return rootKeys.origin
  const { origin } = config.shownSettings.find(({ name }) => name === 'TABBAT_ROOT_KEY') ?? {}
  return origin === 'file' ? 'key file' : (origin ?? 'environment')
}

export const SETTINGS_ROUTES: readonly AdminRoute[] = [view]
