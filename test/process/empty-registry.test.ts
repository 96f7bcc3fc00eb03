import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newDataDir, startServer, tabbat } from './tabbat.ts'

const WARNING =
  'No NIN records are imported, and TABBAT_NIN_SOURCES names no vendor: live NIN requests get 503. Run: tabbat import nin FILE'

it('names the cause of 503 for a live key without records and vendors, wherever one would look', async () => {
  const settings = { TABBAT_DATA_DIR: newDataDir(), TABBAT_LOG_LEVEL: 'silent' }
  const made = await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'live', '--json')
  const { key } = JSON.parse(made.stdout) as { key: string }
  expect((await tabbat(settings, 'sources', 'status')).stdout).toContain(`${WARNING}\n`)
  expect(JSON.parse((await tabbat(settings, 'sources', 'status', '--json')).stdout)).toEqual([])
  const server = await startServer(settings)
  expect(server.banner).toContain(`warning: ${WARNING}\n`)
  const answer = await fetch(`${server.url}/api/v2/kyc/verify-nin`, {
    method: 'POST',
    headers: { authorization: key, 'content-type': 'application/json' },
    body: JSON.stringify({ nin: '12345678901', phone: '08031234567' }),
  })
  await server.stop()
  expect([answer.status, await answer.json()]).toEqual([
    503,
    expect.objectContaining({ code: 'source_unavailable' }),
  ])
  expect((await tabbat(settings, 'audit', 'export')).stdout).toMatch(
    /\\"name\\":\\"registry\\",\\"result\\":\\"no_records\\"/,
  )

  const file = join(mkdtempSync(join(tmpdir(), 'tabbat-empty-')), 'customers.csv')
  writeFileSync(file, 'nin,phone\n12345678901,08031234567\n')
  const live = { ...settings, TABBAT_API_KEY: key }
  const sent = await tabbat(live, 'verify-file', 'nin', file, '--yes')
  expect([sent.code, sent.stderr]).toEqual([
    1,
    expect.stringContaining(`error: Nothing was sent. ${WARNING}\n`),
  ])
  const dry = await tabbat(live, 'verify-file', 'nin', file, '--dry-run')
  expect([dry.code, dry.stderr]).toEqual([0, expect.stringContaining(`${WARNING}\n`)])
})
