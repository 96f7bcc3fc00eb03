import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlace, toNin } from '../battery/place.ts'
import { startSpawned } from '../fail-closed/spawned.ts'
import { tabbat } from './tabbat.ts'

const canMount = process.platform === 'linux' && process.getuid?.() === 0
const title = canMount
  ? 'on a read-only file system'
  : 'on a read-only file system (skipped: only root on Linux can make one)'

describe.skipIf(!canMount)(title, () => {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-read-only-'))
  const settings = { TABBAT_DATA_DIR: folder }
  beforeAll(async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32m,mode=700', 'tmpfs', folder])
    const place = await createPlace(settings)
    // Killed, so that the last rows are in the write-ahead log.
    const server = await startSpawned(place)
    expect((await server.verifyNin(toNin(0)))?.status).toBe(200)
    server.stop()
    await server.ended
    execFileSync('mount', ['-o', 'remount,ro', folder])
  })
  afterAll(() => {
    execFileSync('umount', [folder])
    rmdirSync(folder)
  })

  it('audit verify reads all of the log, and leaves nothing behind', async () => {
    const copies = () => readdirSync(tmpdir()).filter((name) => name.startsWith('tabbat-read-only-'))
    const before = copies()
    const { code, stdout, stderr } = await tabbat(settings, 'audit', 'verify', '--json')
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('error')])
    // The key that was made, and the verification.
    expect(JSON.parse(stdout)).toMatchObject({ sound: true, rows: expect.any(Number) })
    expect(JSON.parse(stdout).rows).toBeGreaterThanOrEqual(2)
    expect(copies()).toEqual(before)
  })

  it.each([
    ['keys', 'list'],
    ['registry', 'stats'],
    ['sources', 'status'],
    ['audit', 'public-key'],
  ])('%s %s works', async (...command) => {
    const { code, stderr } = await tabbat(settings, ...command)
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('error')])
  })
})
