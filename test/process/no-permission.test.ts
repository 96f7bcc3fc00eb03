import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newDataDir, TABBAT, tabbat } from './tabbat.ts'

const OTHER = 65534

/** As a user who may do less than root. */
function runAsOther(settings: Record<string, string>, ...args: string[]) {
  const env = { PATH: process.env.PATH ?? '', HOME: tmpdir(), ...settings }
  const { status, stderr } = spawnSync(TABBAT.file, args, { env, uid: OTHER, gid: OTHER, encoding: 'utf8' })
  return { status, stderr }
}

async function newDataOfOther(): Promise<string> {
  const folder = newDataDir()
  await tabbat({ TABBAT_DATA_DIR: folder }, 'keys', 'create', '--name', 'x', '--mode', 'test')
  execFileSync('chown', ['-R', `${OTHER}:${OTHER}`, folder])
  return folder
}

/** A folder of root in which there is one more. */
function newClosedFolder(): string {
  const closed = mkdtempSync(join(tmpdir(), 'tabbat-closed-'))
  chmodSync(closed, 0o700)
  mkdirSync(join(closed, 'inner'))
  return join(closed, 'inner')
}

describe.runIf(process.getuid?.() === 0)('without permission, and not as a bug', () => {
  it('a backup says that its file cannot be written', async () => {
    const settings = { TABBAT_DATA_DIR: await newDataOfOther() }
    const { status, stderr } = runAsOther(settings, 'backup', join(newClosedFolder(), 'all.backup'))
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/This user may not write .*all\.backup \(EACCES\)/),
    ])
  })

  it('every command says that the folder of the data cannot be reached', () => {
    const { status, stderr } = runAsOther({ TABBAT_DATA_DIR: newClosedFolder() }, 'keys', 'list')
    expect([status, stderr]).toEqual([1, expect.stringContaining('This user may not look into')])
    expect(stderr).not.toContain('bug')
  })

  it('a server says which file of the checkpoints it may not read', async () => {
    const TABBAT_DATA_DIR = await newDataOfOther()
    const settings = { TABBAT_DATA_DIR, TABBAT_CHECKPOINT_DIR: newClosedFolder() }
    const { status, stderr } = runAsOther(settings, 'keys', 'create', '--name', 'y', '--mode', 'test')
    expect([status, stderr]).toEqual([1, expect.stringMatching(/This user may not read .*checkpoints\.log/)])
    expect(stderr).not.toContain('bug')
  })
})
