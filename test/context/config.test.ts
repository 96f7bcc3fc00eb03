import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { problemsOf, settingFolder, writeSettingFile } from './problems.ts'

describe('the settings', () => {
  it('all have a default', () => {
    expect(loadConfig({}, '')).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      dataDir: './data',
      sandbox: undefined,
      rateLimit: 3000,
      adminPort: 8081,
      logLevel: 'info',
    })
  })

  it('come from the environment first, then from .env', () => {
    const envFile = writeSettingFile('.env', 'TABBAT_PORT=1\nTABBAT_HOST="::1"\nTABBAT_RATE_LIMIT=off\n')
    expect(loadConfig({ TABBAT_PORT: '2', TABBAT_RATE_LIMIT: '' }, envFile)).toMatchObject({
      port: 2,
      host: '::1',
      rateLimit: 'off',
    })
  })

  it('come from the environment first, whichever form of a secret each place has', () => {
    const [here, there] = ['ab'.repeat(32), 'cd'.repeat(32)]
    const path = writeSettingFile('root', `${here}\n`)
    const read = (environment: Record<string, string>, lines: string) => {
      const { rootKey, shownSettings } = loadConfig(environment, writeSettingFile('.env', lines))
      return [rootKey, shownSettings.find(({ name }) => name === 'TABBAT_ROOT_KEY')?.origin]
    }
    const other = writeSettingFile('other', there)
    const both = `TABBAT_ROOT_KEY=${there}\nTABBAT_ROOT_KEY_FILE=${other}\n`
    for (const lines of [...both.trim().split('\n'), both]) {
      expect(read({ TABBAT_ROOT_KEY_FILE: path }, lines)).toEqual([here, 'file'])
      expect(read({ TABBAT_ROOT_KEY: here }, lines)).toEqual([here, 'environment'])
    }
    // An empty variable is not set.
    expect(read({ TABBAT_ROOT_KEY_FILE: '' }, `TABBAT_ROOT_KEY=${there}`)).toEqual([there, '.env'])
    // Of a vendor, too.
    const vendor = 'TABBAT_BAXI_API_KEY=old\n'
    const { vendors } = loadConfig({ TABBAT_BAXI_API_KEY_FILE: path }, writeSettingFile('.env', vendor))
    expect(vendors.baxi).toMatchObject({ values: { apiKey: here } })
  })

  it('refuse both forms of a secret in one place', () => {
    const key = 'ab'.repeat(32)
    const path = writeSettingFile('root', key)
    const problem = 'TABBAT_ROOT_KEY excludes TABBAT_ROOT_KEY_FILE: keep one of them'
    expect(problemsOf({ TABBAT_ROOT_KEY: key, TABBAT_ROOT_KEY_FILE: path })).toEqual([problem])
    const lines = `TABBAT_ROOT_KEY=${key}\nTABBAT_ROOT_KEY_FILE=${path}\n`
    expect(() => loadConfig({}, writeSettingFile('.env', lines))).toThrow(problem)
    expect(problemsOf({ TABBAT_ROOT_KEY: key, TABBAT_ROOT_KEY_FILE: '' })).toEqual([])
  })

  it('report all problems together, without repeating a secret', () => {
    const problems = problemsOf({
      TABBAT_PORT: 'high',
      TABBAT_SANDBOX: 'maybe',
      TABBAT_RATE_LIMIT: '0',
      TABBAT_PUBLIC_URL: 'verify.example.com',
      TABBAT_TRUST_PROXY: 'everyone',
      TABBAT_ROOT_KEY_FILE: '/nowhere/secret',
    })
    expect(problems).toHaveLength(6)
    expect(problems.join('\n')).toMatch(/TABBAT_PORT must be a whole number from 0 to 65535/)
    expect(problems.join('\n')).toMatch(/TABBAT_SANDBOX must be one of on, off/)
    expect(problems.join('\n')).toMatch(/TABBAT_ROOT_KEY cannot be read from the file/)
  })

  it('explain the port that Kubernetes sets', () => {
    expect(problemsOf({ TABBAT_PORT: 'tcp://10.0.0.1:80' })[0]).toMatch(/enableServiceLinks/)
  })

  it('read a secret from a file', () => {
    const path = writeSettingFile('root', `${'ab'.repeat(32)}\n`)
    expect(loadConfig({ TABBAT_ROOT_KEY_FILE: path }, '').rootKey).toBe('ab'.repeat(32))
  })

  it('do not read a secret from a file that every user can read, or that others can change', () => {
    // On the disk: secrets of containers are in memory, and open to others.
    const folder = mkdtempSync(resolve('node_modules/.tabbat-secret-'))
    const path = join(folder, 'open')
    writeFileSync(path, `${'ab'.repeat(32)}\n`)
    for (const mode of [0o644, 0o660, 0o602]) {
      chmodSync(path, mode)
      expect(problemsOf({ TABBAT_ROOT_KEY_FILE: path })).toEqual([
        expect.stringMatching(/^TABBAT_ROOT_KEY cannot be read from its file: .* Type: chmod 640 \S+\/open$/),
      ])
    }
    rmSync(folder, { recursive: true })
    const shared = writeSettingFile('shared', `${'ab'.repeat(32)}\n`, 0o640)
    expect(problemsOf({ TABBAT_ROOT_KEY_FILE: shared })).toEqual([])
  })

  it('has a certificate and a key, or neither', () => {
    const files = { TABBAT_TLS_CERT: '/tls.crt', TABBAT_TLS_KEY: '/tls.key' }
    expect(problemsOf(files)).toEqual([])
    for (const name of Object.keys(files))
      expect(problemsOf({ [name]: '/x' })).toEqual([expect.stringContaining('go together')])
  })

  it('has its root key from one place', () => {
    const TABBAT_ROOT_KEY_COMMAND = 'vault read key'
    expect(problemsOf({ TABBAT_ROOT_KEY_COMMAND })).toEqual([])
    for (const other of ['TABBAT_ROOT_KEY', 'TABBAT_ROOT_KEY_PREVIOUS'])
      expect(problemsOf({ TABBAT_ROOT_KEY_COMMAND, [other]: 'ab'.repeat(32) })).toEqual([
        expect.stringMatching(/^TABBAT_ROOT_KEY_COMMAND excludes .*keep the one or the others/),
      ])
  })

  it('refuse a .env that is a folder, as Docker makes one for a missing file', () => {
    expect(() => loadConfig({}, settingFolder)).toThrow(`${settingFolder} cannot be read (EISDIR)`)
  })

  it('are read from a .env with a byte order mark and the line ends of Windows', () => {
    const lines = '\uFEFFTABBAT_PORT=1\r\nTABBAT_HOST="::1"\r\n# a comment\r\nTABBAT_RATE_LIMIT=off\r\n'
    expect(loadConfig({}, writeSettingFile('.env', lines))).toMatchObject({
      port: 1,
      host: '::1',
      rateLimit: 'off',
      unknownSettings: [],
    })
  })

  it.each([
    ['with', '\uFEFF'],
    ['without', ''],
  ])('refuse a .env in UTF-16 %s a byte order mark', (_, mark) => {
    const text = Buffer.from(`${mark}TABBAT_PORT=1\r\n`, 'utf16le')
    for (const bytes of [text, Buffer.from(text).swap16()])
      expect(() => loadConfig({}, writeSettingFile('.env', bytes))).toThrow(
        `${join(settingFolder, '.env')} is not UTF-8, but perhaps UTF-16. Save it as UTF-8`,
      )
  })

  it('name a .env with secrets that every user can read', () => {
    const secret = `TABBAT_ROOT_KEY=${'ab'.repeat(32)}\n`
    const exposed = (content: string, mode: number) =>
      loadConfig({}, writeSettingFile('.env', content, mode)).exposedEnvFile
    expect(exposed(secret, 0o644)).toBe(join(settingFolder, '.env'))
    expect(exposed(secret, 0o640)).toBeUndefined()
    expect(exposed('TABBAT_PORT=1\n', 0o644)).toBeUndefined()
    // Also if the environment has another value.
    const path = writeSettingFile('.env', secret, 0o644)
    expect(loadConfig({ TABBAT_ROOT_KEY: 'cd'.repeat(32) }, path).exposedEnvFile).toBe(path)
  })

  it('refuse NODE_TLS_REJECT_UNAUTHORIZED=0 if credentials are sent over TLS', () => {
    const unchecked = { NODE_TLS_REJECT_UNAUTHORIZED: '0' }
    const refused = [expect.stringContaining('NODE_TLS_REJECT_UNAUTHORIZED=0 would send credentials')]
    const vendor = { TABBAT_BAXI_API_KEY: 'x' }
    const database = (query: string) => ({ TABBAT_DATABASE_URL: `postgres://user:hush@db.example/x${query}` })
    expect(problemsOf({ ...unchecked, ...vendor })).toEqual(refused)
    expect(problemsOf({ ...unchecked, ...database('?sslmode=verify-full') })).toEqual(refused)
    expect(problemsOf({ ...unchecked, ...database('?ssl=true') })).toEqual(refused)
    expect(problemsOf({ ...unchecked, ...database('?sslmode=disable') })).toEqual([])
    expect(problemsOf(unchecked)).toEqual([])
    expect(problemsOf({ ...vendor, NODE_TLS_REJECT_UNAUTHORIZED: '1' })).toEqual([])
  })

  it('have bounds for durations', () => {
    const lists = { TABBAT_CATALOGUE_SOURCES: 'baxi', TABBAT_BAXI_API_KEY: 'x' }
    expect(problemsOf({ ...lists, TABBAT_REUSE: '31d', TABBAT_CATALOGUE_SYNC: '59s' })).toEqual([
      'TABBAT_REUSE must be at most 30d',
      'TABBAT_CATALOGUE_SYNC must be at least 1m',
    ])
    expect(problemsOf({ ...lists, TABBAT_REUSE: '30d', TABBAT_CATALOGUE_SYNC: '1m' })).toEqual([])
  })

  it('keep audit rows for a year at least, and remove them only with a folder for archives', () => {
    const folder = { TABBAT_AUDIT_ARCHIVE_DIR: '/archive' }
    expect(problemsOf({ ...folder, TABBAT_AUDIT_KEEP: '364d' })).toEqual([
      'TABBAT_AUDIT_KEEP must be at least 365d',
    ])
    expect(problemsOf({ TABBAT_AUDIT_KEEP: '1y' })).toEqual([
      expect.stringContaining('TABBAT_AUDIT_KEEP needs TABBAT_AUDIT_ARCHIVE_DIR'),
    ])
    expect(problemsOf({ ...folder, TABBAT_AUDIT_KEEP: '1y' })).toEqual([])
    expect(problemsOf({ ...folder, TABBAT_RECORDS_KEEP: '1h' })).toEqual([
      'TABBAT_RECORDS_KEEP must be at least 1d',
    ])
    const { auditKeep, recordsKeep } = loadConfig({}, '')
    expect([auditKeep, recordsKeep]).toEqual(['off', 'off'])
  })

  it('list unknown TABBAT_ variables', () => {
    const TABBAT_ROOT_KEY_FILE = writeSettingFile('root', `${'ab'.repeat(32)}\n`)
    const { unknownSettings } = loadConfig(
      { TABBAT_PROT: '1', TABBAT_PORT: '1', TABBAT_ROOT_KEY_FILE, PATH: 'x' },
      '',
    )
    expect(unknownSettings).toEqual(['TABBAT_PROT'])
    // The programs in examples/ and the clients read these.
    expect(loadConfig({ TABBAT_URL: 'http://127.0.0.1:8080', TABBAT_KEY: 'x' }, '').unknownSettings).toEqual(
      [],
    )
  })

  it('are shown with their origin, without secrets', () => {
    const envFile = writeSettingFile('.env', 'TABBAT_HOST=::1\nTABBAT_PORT=1\n')
    const { shownSettings } = loadConfig(
      {
        TABBAT_PORT: '2',
        TABBAT_DATABASE_URL: 'postgres://user:hush@localhost/x',
        TABBAT_ROOT_KEY_FILE: writeSettingFile('root', `${'ab'.repeat(32)}\n`),
      },
      envFile,
    )
    const find = (wanted: string) => shownSettings.find(({ name }) => name === wanted)
    expect(find('TABBAT_PORT')).toMatchObject({ value: '2', origin: 'environment' })
    expect(find('TABBAT_HOST')).toMatchObject({ value: '::1', origin: '.env' })
    expect(find('TABBAT_RATE_LIMIT')).toMatchObject({ value: '3000', origin: 'default' })
    expect(find('TABBAT_PUBLIC_URL')).toMatchObject({ value: undefined, origin: 'unset' })
    expect(find('TABBAT_DATABASE_URL')).toMatchObject({
      isSecret: true,
      value: undefined,
      origin: 'environment',
    })
    expect(find('TABBAT_ROOT_KEY')).toMatchObject({ isSecret: true, value: undefined, origin: 'file' })
    expect(JSON.stringify(shownSettings)).not.toMatch(/hush|abab/)
  })
})

describe('the settings of OpenTelemetry', () => {
  const at = (more: Record<string, string>) =>
    loadConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/', ...more }, '')

  it('are read, with a secret from a file', () => {
    const OTEL_EXPORTER_OTLP_HEADERS_FILE = writeSettingFile(
      'headers',
      'authorization=Bearer%20x, x-tenant = a\n',
    )
    const more = { OTEL_TRACES_SAMPLER_ARG: '.25', OTEL_RESOURCE_ATTRIBUTES: 'a.b=c%2Cd,e=f,' }
    expect(
      at({ ...more, OTEL_EXPORTER_OTLP_HEADERS_FILE, OTEL_PROPAGATORS: 'tracecontext,baggage' }),
    ).toMatchObject({
      otlpEndpoint: 'http://127.0.0.1:4318',
      otlpHeaders: { authorization: 'Bearer x', 'x-tenant': 'a' },
      otelResource: { 'a.b': 'c,d', e: 'f' },
      otelSamplerArg: 0.25,
      otelPropagators: ['tracecontext', 'baggage'],
    })
  })

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', 'must be a URL'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'must be one of http/protobuf'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'x=%0aevil', 'must have values that can be sent in a header'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'hush', 'must be pairs such as'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'a=%', 'must be pairs such as'],
    ['OTEL_TRACES_SAMPLER', 'some', 'must be one of always_on'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5', 'must be a number from 0 to 1'],
    ['OTEL_METRIC_EXPORT_INTERVAL', '10', 'must be a whole number from 1000'],
  ])('refuse %s=%s', (name, value, problem) => {
    expect(problemsOf({ [name]: value })).toEqual([expect.stringContaining(`${name} ${problem}`)])
  })

  it('refuse headers over plain http to another machine, as for vendors', () => {
    const endpoint = (url: string, more: Record<string, string>) =>
      problemsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ...more })
    const headers = { OTEL_EXPORTER_OTLP_HEADERS: 'api-key=hush' }
    for (const more of [
      headers,
      { OTEL_EXPORTER_OTLP_HEADERS_FILE: writeSettingFile('otlp', 'api-key=hush') },
      { OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'api-key=hush' },
    ])
      for (const url of ['http://collector:4318', 'http://10.0.0.5', 'http://127.0.0.1.example.com']) {
        const [problem, ...others] = endpoint(url, more)
        expect(problem).toContain('OTEL_EXPORTER_OTLP_ENDPOINT must begin with https://')
        expect([problem?.includes('hush'), others]).toEqual([false, []])
      }
    for (const url of ['https://collector.example.com', 'http://localhost:4318', 'http://[::1]:4318'])
      expect(endpoint(url, headers)).toEqual([])
    expect(endpoint('http://collector:4318', {})).toEqual([])
    expect(endpoint('http://collector:4318', { ...headers, OTEL_SDK_DISABLED: 'true' })).toEqual([])
    expect(problemsOf(headers)).toEqual([])
  })

  it('refuse headers if no certificate would be checked', () => {
    const [problem] = problemsOf({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example.com',
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=hush',
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
    })
    expect(problem).toContain('NODE_TLS_REJECT_UNAUTHORIZED=0 would send credentials')
  })

  it('that are not known are listed if it is in use', () => {
    expect(at({ OTEL_LOG_LEVEL: 'debug' }).unknownSettings).toEqual(['OTEL_LOG_LEVEL'])
    expect(loadConfig({ OTEL_LOG_LEVEL: 'debug' }, '').unknownSettings).toEqual([])
  })
})
