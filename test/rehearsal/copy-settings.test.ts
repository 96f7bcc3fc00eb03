import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { toCopySettings } from '../../src/rehearsal/copy-settings.ts'

const PLACE = {
  dataDir: '/copy/data',
  checkpointDir: '/copy/checkpoints',
  databaseUrl: undefined,
  rootKeys: ['present', 'previous'],
  vendors: { dojah: { TABBAT_DOJAH_URL: 'http://127.0.0.1:9', TABBAT_DOJAH_SECRET: 'simulated' } },
}

const GIVEN = {
  PATH: '/bin',
  AWS_SECRET_ACCESS_KEY: 'of another program',
  HTTPS_PROXY: 'http://proxy.example',
  TABBAT_HOST: '0.0.0.0',
  TABBAT_PORT: '443',
  TABBAT_DATA_DIR: '/srv/tabbat',
  TABBAT_CHECKPOINT_DIR: '/mnt/checkpoints',
  TABBAT_NIN_SOURCES: 'dojah',
  TABBAT_NOT_FOUND: 'next',
  TABBAT_STORE_TIMEOUT: '3s',
  TABBAT_RATE_LIMIT: '60',
  TABBAT_DOJAH_URL: 'https://api.dojah.io',
  TABBAT_DOJAH_APP_ID: 'real-app',
  TABBAT_DOJAH_SECRET: 'real-secret',
  TABBAT_DOJAH_PRICE: '50',
  TABBAT_DOJAH_DAILY_CAP: '20000',
  TABBAT_DOJAH_NIN_PATH: '/api/v1/kyc/nin/advance',
  TABBAT_METRICS_TOKEN: 'real-token',
  TABBAT_LOG_FILE: '/var/log/tabbat.log',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example',
  TABBAT_OIDC_ISSUER: 'https://login.example',
  TABBAT_OIDC_CLIENT_ID: 'tabbat',
  TABBAT_OIDC_ROLES: 'viewer=staff',
}

const { settings, notes } = toCopySettings(loadConfig(GIVEN, '/nowhere/.env'), GIVEN, PLACE)

it('takes the settings that decide how requests are answered', () => {
  expect(settings).toMatchObject({
    TABBAT_NIN_SOURCES: 'dojah',
    TABBAT_NOT_FOUND: 'next',
    TABBAT_STORE_TIMEOUT: '3s',
    TABBAT_DOJAH_PRICE: '50',
  })
})

it('sets what must differ: address, data, vendors, and no other machine', () => {
  expect(settings).toMatchObject({
    TABBAT_HOST: '127.0.0.1',
    TABBAT_PORT: '0',
    TABBAT_DATA_DIR: '/copy/data',
    TABBAT_CHECKPOINT_DIR: '/copy/checkpoints',
    TABBAT_ROOT_KEY: 'present',
    TABBAT_ROOT_KEY_PREVIOUS: 'previous',
    TABBAT_DOJAH_URL: 'http://127.0.0.1:9',
    TABBAT_LOOPBACK_ONLY: 'on',
    TABBAT_ADMIN_PORT: 'off',
  })
})

it('takes no credential, no address of another machine, and nothing of other programs', () => {
  expect(JSON.stringify(settings)).not.toMatch(
    /real-|example|dojah\.io|of another program|\/var\/log|\/mnt|\/srv/,
  )
})

it('says what was changed and could surprise', () => {
  expect(settings.TABBAT_RATE_LIMIT).toBe('3000')
  expect(Number(settings.TABBAT_DOJAH_DAILY_CAP)).toBeGreaterThan(20_000)
  expect(notes.join(' ')).toMatch(/TABBAT_RATE_LIMIT.*|TABBAT_DOJAH_DAILY_CAP/)
  expect(notes.some((note) => note.includes('TABBAT_DOJAH_NIN_PATH'))).toBe(true)
})

it.each([
  ['as the operator has set it', { TABBAT_QOREID_NAMES_OPTIONAL: 'on' }, 'on'],
  ['off, if the operator has not set it', {}, undefined],
])('whether QoreID is asked without names is %s', (_what, own, expected) => {
  const credentials = { TABBAT_QOREID_CLIENT_ID: 'real', TABBAT_QOREID_SECRET: 'real' }
  const given = { TABBAT_NIN_SOURCES: 'qoreid', ...credentials, ...own }
  const simulated = { TABBAT_QOREID_URL: 'http://127.0.0.1:9', TABBAT_QOREID_NAMES_OPTIONAL: 'on' }
  const place = { ...PLACE, vendors: { qoreid: simulated } }
  const copied = toCopySettings(loadConfig(given, '/nowhere/.env'), given, place).settings
  expect(copied.TABBAT_QOREID_NAMES_OPTIONAL).toBe(expected)
  expect(copied.TABBAT_QOREID_URL).toBe('http://127.0.0.1:9')
})

/** The settings of a copy for these settings of the operator, beside those that it needs. */
const copy = (given: Record<string, string>) =>
  toCopySettings(loadConfig(given, '/nowhere/.env'), given, { ...PLACE, vendors: {} })

it('reads the folders of the operator by their whole paths: the servers run in another folder', () => {
  const { settings: copied } = copy({
    TABBAT_VENDORS_DIR: 'docs/examples',
    TABBAT_AUDIT_ARCHIVE_DIR: 'archive',
  })
  expect(copied).toMatchObject({
    TABBAT_VENDORS_DIR: resolve('docs/examples'),
    TABBAT_AUDIT_ARCHIVE_DIR: resolve('archive'),
  })
})

it('uses the sandbox if there is no vendor, and says so', () => {
  const { settings: copied, notes: told } = copy({ TABBAT_SANDBOX: 'off', TABBAT_NIN_SOURCES: 'registry' })
  expect(copied.TABBAT_SANDBOX).toBe('on')
  expect(told).toEqual([expect.stringContaining('TABBAT_SANDBOX was set to on for the copy')])
})

it('leaves limits that are wide enough', () => {
  const given = { ...GIVEN, TABBAT_RATE_LIMIT: 'off', TABBAT_DOJAH_DAILY_CAP: '2000000' }
  const { settings: copied, notes: told } = toCopySettings(loadConfig(given, '/nowhere/.env'), given, PLACE)
  expect(copied).toMatchObject({ TABBAT_RATE_LIMIT: 'off', TABBAT_DOJAH_DAILY_CAP: '2000000' })
  expect(told.join(' ')).not.toMatch(/RATE_LIMIT|DAILY_CAP/)
})
