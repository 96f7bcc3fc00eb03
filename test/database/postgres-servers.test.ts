import { expect, it } from 'vitest'
import { listPlaces, readPrimary } from '../../src/database/postgres-servers.ts'
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

it.skipIf(!hasPostgres())(
  'says of each server of an address which database it has, if it answers',
  async () => {
    const { options } = await POSTGRES.createPlace()
    const url = String(options.databaseUrl)
    const [place, silent] = await listPlaces(url.replace(/127\.0\.0\.1:\d+/, '$&,127.0.0.1:9'))
    expect(place?.identity).toMatch(/^\d+\.\d+\/\d+$/)
    expect(silent).toEqual({ text: `127.0.0.1:9${new URL(url).pathname}`, identity: undefined })
    const [other] = await listPlaces(url.replace('127.0.0.1', 'localhost'))
    expect(other?.text).not.toBe(place?.text)
    expect(other?.identity).toBe(place?.identity)
  },
)
