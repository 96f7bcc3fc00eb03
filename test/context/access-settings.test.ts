import { describe, expect, it } from 'vitest'
import { type Config, loadConfig } from '../../src/context/config.ts'
import { problemsOf } from './problems.ts'

const load = (environment: Record<string, string>): Config => loadConfig(environment, 'no-such-file')

describe('TABBAT_TWO_FACTOR', () => {
  it.each([
    [{}, 'off'],
    [{ TABBAT_TWO_FACTOR: 'OFF' }, 'off'],
    [{ TABBAT_TWO_FACTOR: 'owner' }, ['owner']],
    [{ TABBAT_TWO_FACTOR: ' Operator , owner' }, ['operator', 'owner']],
  ])('%j is %j', (environment, value) => {
    expect(load(environment).twoFactor).toEqual(value)
  })

  it('refuses other words', () => {
    expect(problemsOf({ TABBAT_TWO_FACTOR: 'owner,king' })).toEqual([
      expect.stringMatching(
        /^TABBAT_TWO_FACTOR must be roles separated by commas, out of: viewer, operator, owner/,
      ),
    ])
  })
})

describe('single sign-on', () => {
  const OIDC = {
    TABBAT_OIDC_ISSUER: 'https://login.example.com/realms/staff/',
    TABBAT_OIDC_CLIENT_ID: 'tabbat',
    TABBAT_OIDC_ROLES: 'operator=ops, viewer=staff ,viewer=all people',
  }

  it('is read with its defaults', () => {
    expect(load(OIDC)).toMatchObject({
      oidcIssuer: 'https://login.example.com/realms/staff',
      oidcRoles: { operator: ['ops'], viewer: ['staff', 'all people'] },
      oidcRoleClaim: 'groups',
      oidcNameClaim: 'preferred_username',
      oidcScopes: 'openid profile',
      oidcPrivate: 'off',
    })
  })

  it.each(['TABBAT_OIDC_ISSUER', 'TABBAT_OIDC_CLIENT_ID', 'TABBAT_OIDC_ROLES'])('needs %s', (name) => {
    const { [name as keyof typeof OIDC]: _, ...others } = OIDC
    expect(problemsOf(others)).toEqual([`Single sign-on also needs ${name}`])
  })

  it.each([
    ['TABBAT_OIDC_ISSUER', 'http://login.example.com', /must begin with https/],
    ['TABBAT_OIDC_ISSUER', 'login.example.com', /must be a URL/],
    ['TABBAT_OIDC_ROLES', 'owner=admins', /must not give the role owner/],
    ['TABBAT_OIDC_ROLES', 'operator', /must be such as operator=/],
    ['TABBAT_OIDC_ROLES', 'operator=', /must be such as operator=/],
    ['TABBAT_OIDC_ROLES', 'king=all', /must be such as operator=/],
  ])('refuses %s=%s', (name, value, sentence) => {
    expect(problemsOf({ ...OIDC, [name]: value })).toEqual([expect.stringMatching(sentence)])
  })

  it('allows plain http on this machine only', () => {
    expect(problemsOf({ ...OIDC, TABBAT_OIDC_ISSUER: 'http://127.0.0.1:9000' })).toEqual([])
  })
})
