import { describe, expect, it } from 'vitest'
import { parseDatabaseUrl, toDatabasePlace } from '../../src/settings/database-url.ts'
import { databaseUrl } from '../../src/settings/setting.ts'

describe('the address of a database', () => {
  it('may name several hosts, which share the rest', () => {
    const text = 'postgres://user:p%40ss@one:5432,two:5433,[::1]:5434/data?target_session_attrs=read-write'
    expect(parseDatabaseUrl(text)?.map(({ href }) => href)).toEqual(
      ['one:5432', 'two:5433', '[::1]:5434'].map(
        (host) => `postgres://user:p%40ss@${host}/data?target_session_attrs=read-write`,
      ),
    )
    expect(toDatabasePlace(text)).toBe('one:5432,two:5433,[::1]:5434/data')
    expect(databaseUrl(text)).toBe(text)
  })

  it('may name one host, or none for a Unix socket', () => {
    expect(toDatabasePlace('postgresql://one/data')).toBe('one/data')
    expect(parseDatabaseUrl('postgres:///data?host=/run/postgresql')).toHaveLength(1)
  })

  it('is refused with an invalid host or session attribute', () => {
    expect(() => databaseUrl('postgres://one:5432,two:x/data')).toThrow(/must be a URL/)
    expect(() => databaseUrl('https://one/data')).toThrow(/must be a URL/)
    expect(() => databaseUrl('postgres://one,two/data?target_session_attrs=standby')).toThrow(
      /any, read-write, primary/,
    )
  })
})
