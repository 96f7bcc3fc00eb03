import { createSecretKey } from 'node:crypto'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { appendSigned, readSigned, readSignedSize, scanSigned } from '../../src/audit/signed-file.ts'

const KEY = createSecretKey(Buffer.alloc(32, 1))
const NAME = 'losses.log'
let root: string
let folder: string
let file: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tabbat-signed-'))
  folder = join(root, 'new')
  file = join(folder, NAME)
})
afterEach(() => rmSync(root, { recursive: true }))

const append = (...objects: object[]) => appendSigned(folder, NAME, KEY, objects)
const scan = (text = readFileSync(file, 'utf8'), key = KEY) =>
  scanSigned({ file, text }, key, ({ id }) => (typeof id === 'number' ? id : undefined))

describe('a signed file', () => {
  it('has a line for each object, which only its owner can read', async () => {
    await append({ id: 1 }, { id: 2, name: 'Ọláìtán' })
    await append({ id: 3 })
    expect(scan()).toEqual({ values: [1, 2, 3], unsignedLine: undefined })
    expect([statSync(folder).mode & 0o777, statSync(file).mode & 0o777]).toEqual([0o700, 0o600])
    expect(readFileSync(file, 'utf8')).toMatch(/^\{"id":1,"mac":"[0-9a-f]{64}"\}\n\{"id":2,/)
  })

  it('is not made for nothing', async () => {
    await append()
    expect(() => statSync(folder)).toThrow('ENOENT')
  })

  it('is continued after an incomplete line, which is skipped', async () => {
    await append({ id: 1 })
    appendFileSync(file, '{"id":2,"ma')
    await append({ id: 3 })
    expect(scan()).toEqual({ values: [1, 3], unsignedLine: undefined })
    expect(readFileSync(file, 'utf8')).toContain('{"id":2,"ma\n{"id":3')
  })

  it('with a line that was changed, added or signed with another key names the first', async () => {
    await append({ id: 1 }, { id: 2 }, { id: 3 })
    const text = readFileSync(file, 'utf8')
    expect(scan(text.replace('"id":2', '"id":9'))).toEqual({ values: [1, 3], unsignedLine: 2 })
    expect(scan(text.replaceAll('"id":', '"id": '))).toEqual({ values: [], unsignedLine: 1 })
    expect(scan(`${text}{"id":4}\n{"id":5}\n`)).toEqual({ values: [1, 2, 3], unsignedLine: 4 })
    expect(scan(text, createSecretKey(Buffer.alloc(32, 2)))).toEqual({ values: [], unsignedLine: 1 })
    expect(scan(text.replace(/"mac":"(.)/, '"mac":"x'))).toEqual({ values: [2, 3], unsignedLine: 1 })
  })

  it('with a line about something else names it', async () => {
    await append({ id: 1 }, { other: 1 })
    expect(scan()).toEqual({ values: [1], unsignedLine: 2 })
  })

  it.each(['', '\n\n', 'null\n', '7\n', 'text\n'])('of %j has nothing', (text) => {
    expect(scan(text)).toEqual({ values: [], unsignedLine: undefined })
  })

  it('is read from its folder or from its own path, and may be missing', async () => {
    expect(await readSigned(folder, NAME)).toBeUndefined()
    expect(await readSignedSize(folder, NAME)).toBe(0)
    await append({ id: 1 })
    const text = readFileSync(file, 'utf8')
    expect(await readSigned(folder, NAME)).toEqual({ file, text })
    expect(await readSigned(file, NAME)).toEqual({ file, text })
    expect(await readSigned(folder, 'other.log')).toBeUndefined()
    expect(await readSignedSize(folder, NAME)).toBe(text.length)
  })

  it('that cannot be read is an error', async () => {
    await append({ id: 1 })
    await expect(readSigned(join(file, 'below'), NAME)).rejects.toThrow('ENOTDIR')
    await expect(readSignedSize(file, NAME)).rejects.toThrow('ENOTDIR')
  })
})
