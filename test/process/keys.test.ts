import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newDataDir, type RunningServer, startServer, tabbat } from './tabbat.ts'

const settings = { TABBAT_DATA_DIR: newDataDir(), TABBAT_LOG_LEVEL: 'silent' }
let server: RunningServer

beforeAll(async () => {
  server = await startServer(settings)
})
afterAll(() => server.stop())

const create = async (...args: string[]) =>
  JSON.parse((await tabbat(settings, 'keys', 'create', '--name', 'shop', '--json', ...args)).stdout) as {
    key: string
    id: string
    scopes: string[]
    client_certs: string[] | null
    expires_at: string | null
  }

const status = async (key: string) =>
  (await fetch(`${server.url}/api/v2/sme-data/list`, { headers: { authorization: `Bearer ${key}` } })).status

describe('tabbat keys', () => {
  it('creates a key that a running server accepts, until a second after its revocation', async () => {
    const { key, id } = await create('--mode', 'test')
    expect(await status(key)).toBe(200)
    const { code, stdout } = await tabbat(settings, 'keys', 'revoke', id)
    expect([code, stdout]).toEqual([
      0,
      `Key ${id} is revoked. It is refused within a second, on every server.\n`,
    ])
    const until = Date.now() + 1000
    let last = await status(key)
    while (last !== 401 && Date.now() < until) last = await status(key)
    expect(last).toBe(401)
  })

  it('stores client certificates, and a roll may change them', async () => {
    const [one, two] = [`sha256:${'ab'.repeat(32)}`, `sha256:${'cd'.repeat(32)}`]
    const made = await create('--mode', 'test', '--client-cert', one)
    expect(made.client_certs).toEqual([one])
    expect(await status(made.key)).toBe(403)
    const roll = await tabbat(settings, 'keys', 'roll', made.id, '--client-cert', `${one},${two}`, '--json')
    const rolled = JSON.parse(roll.stdout)
    expect(rolled.client_certs).toEqual([one, two])
    const again = await tabbat(settings, 'keys', 'roll', rolled.id, '--json')
    expect(JSON.parse(again.stdout).client_certs).toEqual([one, two])
    const bad = await tabbat(settings, 'keys', 'roll', made.id, '--client-cert', 'x')
    expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining('SHA-256 fingerprints')])
  })

  it('changes a key that a running server knows', async () => {
    const { key, id } = await create(
      '--mode',
      'test',
      '--scope',
      'kyc:nin',
      '--ip',
      '10.0.0.1',
      '--note',
      'old',
    )
    expect(await status(key)).toBe(403)
    const options = ['--scope', 'catalogue:read', '--ip', 'any', '--expires', '1d', '--note', 'none']
    const changed = await tabbat(settings, 'keys', 'change', id, ...options, '--require-consent', '--json')
    expect(JSON.parse(changed.stdout)).toMatchObject({
      ...{ id, scopes: ['catalogue:read'], allowed_ips: null, note: null, requires_consent: true },
      expires_at: expect.any(String),
    })
    await expect.poll(() => status(key)).toBe(200)
    const back = ['--no-require-consent', '--expires', 'never']
    expect(
      JSON.parse((await tabbat(settings, 'keys', 'change', id, ...back, '--json')).stdout),
    ).toMatchObject({
      ...{ requires_consent: false, expires_at: null, scopes: ['catalogue:read'] },
    })
    const none = await tabbat(settings, 'keys', 'change', id)
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('Give at least one option')])
    const bad = await tabbat(settings, 'keys', 'change', id, '--note', 'NIN 12345678901')
    expect([bad.code, bad.stderr]).toEqual([1, expect.not.stringContaining('12345678901')])
  })

  it('stores scopes and expiry', async () => {
    const made = await create('--mode', 'live', '--scope', 'kyc:nin,kyc:bvn', '--expires', '90d')
    expect(made.key).toMatch(/^tbt_live_/)
    expect(made.scopes).toEqual(['kyc:nin', 'kyc:bvn'])
    expect(Date.parse(made.expires_at ?? '')).toBeGreaterThan(Date.now() + 89 * 86_400_000)
    expect(await status(made.key)).toBe(403)
  })

  it('says which of the fields to reveal are hidden by default', async () => {
    const args = ['--name', 'shop', '--mode', 'test', '--reveal', 'religion,next_of_kin.town']
    const { code, stderr } = await tabbat(settings, 'keys', 'create', ...args)
    expect(code).toBe(0)
    expect(stderr).toContain('this key gets fields that are hidden by default: next_of_kin.town.')
    expect(stderr).toContain('religion is not hidden by default, so --reveal changes nothing for it.')
  })

  it('refuses a name that could be the number of a person', async () => {
    const name = 'shop of 0803-123-4567'
    const { code, stderr } = await tabbat(settings, 'keys', 'create', '--name', name, '--mode', 'test')
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/must not hold ten digits or more that could be .*UUID/),
    ])
    expect(stderr).not.toContain('0803')
  })

  it('rolls a key: both work during the overlap, the old one ends with it', async () => {
    const old = await create('--mode', 'test')
    const rolled = JSON.parse(
      (await tabbat(settings, 'keys', 'roll', old.id, '--overlap', '1h', '--json')).stdout,
    ) as { key: string }
    expect([await status(old.key), await status(rolled.key)]).toEqual([200, 200])
    const again = await tabbat(settings, 'keys', 'roll', old.id)
    expect([again.code, again.stderr.includes('was rolled before')]).toEqual([1, true])
    const other = await create('--mode', 'test')
    const successor = JSON.parse(
      (await tabbat(settings, 'keys', 'roll', other.id, '--overlap', '0s', '--json')).stdout,
    ) as { key: string }
    expect([await status(other.key), await status(successor.key)]).toEqual([401, 200])
  })

  it('lists the keys and shows no secret', async () => {
    const { key, id } = await create('--mode', 'test')
    const plain = await tabbat(settings, 'keys', 'list')
    const json = await tabbat(settings, 'keys', 'list', '--json')
    expect(plain.stdout).toContain(id)
    expect((JSON.parse(json.stdout) as { id: string }[]).some((row) => row.id === id)).toBe(true)
    expect(plain.stdout + json.stdout).not.toContain(key.slice(17))
  })

  it('shows the key once, on the first line', async () => {
    const { stdout, stderr } = await tabbat(settings, 'keys', 'create', '--name', 'x', '--mode', 'test')
    expect(stdout.split('\n')[0]).toMatch(/^tbt_test_[0-9A-Za-z]{46}$/)
    expect(stderr).toContain('shown only once')
  })

  it.each([
    [['keys', 'create', '--name', 'x'], /--mode/],
    [['keys', 'create', '--name', 'x', '--mode', 'prod'], /Allowed choices are test, live/],
    [['keys', 'create', '--name', 'x', '--mode', 'test', '--scope', 'all'], /The scopes are kyc:nin/],
    [['keys', 'create', '--name', 'x', '--mode', 'test', '--expires', 'soon'], /such as 30m, 12h, 90d/],
    [['keys', 'create', '--name', 'x', '--mode', 'test', '--ip', '300.1.1.1'], /Give addresses or networks/],
    [['keys', 'create', '--name', ' ', '--mode', 'test'], /1 to 80 characters/],
    [['keys', 'revoke', 'nobody00'], /There is no key nobody00/],
    [['keys', 'revoke', 'tbt_live_secretsecret'], /There is no key with this id/],
    [['keys', 'wander'], /unknown command/],
  ])('%j is refused with a sentence that helps', async (args, sentence) => {
    const { code, stderr } = await tabbat(settings, ...args)
    expect(code).toBe(1)
    expect(stderr).toMatch(sentence)
  })
})

describe('help', () => {
  it.each([
    [[]],
    [['serve']],
    [['keys']],
    [['keys', 'create']],
    [['keys', 'list']],
    [['keys', 'revoke']],
    [['keys', 'roll']],
  ])('exists for %j', async (args) => {
    const { code, stdout } = await tabbat({}, ...args, '--help')
    expect([code, stdout.startsWith('Usage: tabbat')]).toEqual([0, true])
  })
})
