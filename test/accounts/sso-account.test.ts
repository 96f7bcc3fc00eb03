import { describe, expect, it } from 'vitest'
import { toName, toRole, toSignInTime } from '../../src/accounts/accounts.ts'

const ISSUER = { iss: 'https://login.example.com', sub: 'a-subject' }
const RULES = {
  nameClaim: 'preferred_username',
  roleClaim: 'groups',
  roles: { operator: ['ops'], viewer: ['staff', 'auditors'] },
}

describe('the role of claims', () => {
  it.each([
    [{ groups: ['staff', 'ops'] }, 'operator'],
    [{ groups: ['auditors'] }, 'viewer'],
    [{ groups: 'ops' }, 'operator'],
    [{ groups: ['owner', 'admin'] }, undefined],
    [{ groups: [] }, undefined],
    [{ groups: { ops: true } }, undefined],
    [{}, undefined],
  ])('%j is %j', (claims, role) => {
    expect(toRole({ ...ISSUER, ...claims }, RULES)).toBe(role)
  })

  it('may be inside another claim, or have a dot in its name', () => {
    const rules = { ...RULES, roleClaim: 'realm_access.roles' }
    expect(toRole({ ...ISSUER, realm_access: { roles: ['ops'] } }, rules)).toBe('operator')
    expect(toRole({ ...ISSUER, 'realm_access.roles': ['staff'] }, rules)).toBe('viewer')
    expect(toRole({ ...ISSUER, realm_access: null }, rules)).toBeUndefined()
    expect(toRole(ISSUER, { ...RULES, roleClaim: '__proto__.constructor' })).toBeUndefined()
  })
})

describe('the time of a sign-in at the provider', () => {
  it.each([[{}], [{ auth_time: '1700000000' }], [{ auth_time: null }]])('is unknown in %j', (claims) => {
    expect(toSignInTime({ ...ISSUER, ...claims })).toBe(0)
  })

  it('is the one of the claim, and never in the future', () => {
    expect(toSignInTime({ ...ISSUER, auth_time: 1_700_000_000 })).toBe(1_700_000_000_000)
    expect(toSignInTime({ ...ISSUER, auth_time: 9_999_999_999 })).toBeLessThan(9_999_999_999_000)
  })
})

describe('the name of an account', () => {
  const nameOf = (preferred_username: unknown) => toName({ ...ISSUER, preferred_username }, RULES)

  it.each([
    ['Ada', 'ada'],
    ['ada.obi@example.com', 'ada.obi'],
  ])('of %j is %j', (claim, name) => {
    expect(nameOf(claim)).toBe(name)
  })

  it.each(['', 'a', 'é', '../x', 'Ada Obi', '08031234567', 'x'.repeat(41), undefined, 7, ['ada']])(
    'of %j says nothing about the person, and is always the same',
    (claim) => {
      expect(nameOf(claim)).toMatch(/^sso-[a-z2-7]{8}$/)
      expect(nameOf(claim)).toBe(nameOf(undefined))
    },
  )
})
