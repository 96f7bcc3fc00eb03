import { expect, it } from 'vitest'
import { listWarnings } from '../../src/context/warnings.ts'
import { openTestConsole } from './test-console.ts'

type Setting = { name: string; value: string | null; origin: string; is_secret: boolean }

it('shows settings with origin, and the server state, without secrets', async () => {
  const rootKey = 'cd'.repeat(32)
  const at = await openTestConsole({
    TABBAT_ROOT_KEY: rootKey,
    TABBAT_RATE_LIMIT: 'off',
    TABBAT_TYPO: 'x',
    TABBAT_METRICS_HOST: '0.0.0.0',
    TABBAT_METRICS_PORT: '9464',
    TABBAT_DOJAH_APP_ID: 'app',
    TABBAT_DOJAH_SECRET: 'hush-hush',
    TABBAT_PUBLIC_URL: 'https://user:psst@verify.example.com',
  })
  await at.context.audit.record([{ phase: 'imported' }])
  await at.context.audit.checkpoint()
  const answer = await at.request('/admin/settings', { cookie: await at.openSession('viewer') })
  const view = answer.json()
  expect(view).toMatchObject({
    version: expect.any(String),
    node_version: process.version,
    database: at.context.store.place,
    health: { ready: true, audit: true, workers: 1 },
    root_key: { version: 1, origin: 'environment', rotation_in_progress: false },
    checkpoints: { last_at: expect.any(String), folder: at.context.config.dataDir },
  })
  expect(view.warnings).toEqual(
    expect.arrayContaining([
      'the rate limit is off.',
      'other machines can read the metrics; set TABBAT_METRICS_TOKEN.',
      expect.stringMatching('^the listener of TABBAT_METRICS_PORT is plain HTTP'),
      expect.stringContaining('TABBAT_TYPO'),
    ]),
  )
  const settings = view.settings as Setting[]
  const find = (wanted: string) => settings.find(({ name }) => name === wanted)
  expect(find('TABBAT_RATE_LIMIT')).toMatchObject({ value: 'off', origin: 'environment' })
  expect(find('TABBAT_DOJAH_SECRET')).toMatchObject({ value: null, is_secret: true, origin: 'environment' })
  expect(find('TABBAT_DATABASE_URL')).toMatchObject({ value: null, is_secret: true, origin: 'unset' })
  expect(find('TABBAT_PUBLIC_URL')).toMatchObject({ value: 'https://verify.example.com' })
  for (const secret of [rootKey, 'hush-hush', 'psst']) expect(answer.text).not.toContain(secret)
  await at.close()
})

it('warns that the root key is in the data folder', async () => {
  const at = await openTestConsole()
  const view = (await at.request('/admin/settings', { cookie: await at.openSession('viewer') })).json()
  expect(view).toMatchObject({ root_key: { origin: 'file' }, checkpoints: { last_at: null } })
  expect(view.warnings).toContainEqual(expect.stringContaining('root.key'))
  await at.close()
})

it('warns when nodes share a limit that is smaller than their number', async () => {
  const at = await openTestConsole({ TABBAT_MAX_IN_FLIGHT_PER_KEY: '1' })
  const warning = expect.stringContaining('more nodes and workers than TABBAT_MAX_IN_FLIGHT_PER_KEY')
  expect(listWarnings(at.context)).not.toContainEqual(warning)
  const nodes = { ...at.context.nodes, count: () => 2 }
  expect(listWarnings({ ...at.context, nodes })).toContainEqual(warning)
})
