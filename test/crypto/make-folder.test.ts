import { existsSync, mkdtempSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeFolder, makeFolderSync } from '../../src/crypto/make-folder.ts'

describe.each([
  ['makeFolder', makeFolder],
  ['makeFolderSync', async (path: string) => makeFolderSync(path)],
])('%s', (_name, make) => {
  const newFolder = () => mkdtempSync(join(tmpdir(), 'tabbat-folder-'))

  it('makes a folder and those above it, for its owner', async () => {
    const folder = newFolder()
    await make(join(folder, 'a/b/c'))
    for (const path of ['a', 'a/b', 'a/b/c']) expect(statSync(join(folder, path)).mode & 0o777).toBe(0o700)
  })

  it('leaves a folder that is there, also behind a link, and takes a path with a slash at its end', async () => {
    const folder = newFolder()
    symlinkSync(folder, join(folder, 'link'))
    await make(folder)
    await make(join(folder, 'link'))
    await make(`${folder}/new/`)
    await make('/')
    expect(existsSync(join(folder, 'new'))).toBe(true)
  })

  it('makes it once for several callers', async () => {
    const path = join(newFolder(), 'a/b')
    await Promise.all([make(path), make(path), make(path)])
    expect(existsSync(path)).toBe(true)
  })

  it.each([
    ['a file', 'file', 'EEXIST'],
    ['a folder below a file', 'file/folder', 'ENOTDIR'],
    ['a link that leads nowhere', 'nowhere', 'EEXIST'],
  ])('fails for %s', async (_case, name, code) => {
    const folder = newFolder()
    writeFileSync(join(folder, 'file'), '')
    symlinkSync(join(folder, 'missing/file'), join(folder, 'nowhere'))
    await expect(make(join(folder, name))).rejects.toMatchObject({ code })
  })

  it.runIf(existsSync('/proc/self'))('ends where no folder can be made (needs /proc)', async () => {
    await expect(make('/proc/tabbat/folder')).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
