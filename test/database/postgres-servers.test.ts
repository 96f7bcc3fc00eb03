import { expect, it } from 'vitest'
import { readPrimary } from '../../src/database/postgres-servers.ts'
import { POSTGRES } from '../engines.ts'
import { hasPostgres } from '../postgres.ts'

it.skipIf(!hasPostgres())('tells the primary of an address by its start and its timeline', async () => {
  const { options } = await POSTGRES.createPlace()
  const url = String(options.databaseUrl)
  const primary = await readPrimary(url)
  expect(primary).toMatch(/:\d+ \d+\.\d+ \d{8}$/)
  expect(await readPrimary(url)).toBe(primary)
  expect(await readPrimary('postgres://127.0.0.1:9/nowhere')).toBeUndefined()
})
