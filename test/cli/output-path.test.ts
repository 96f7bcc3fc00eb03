import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { writeOutput } from '../../src/cli/output-path.ts'
import { newFolder } from '../engines.ts'

describe('a file that a command writes', () => {
  it('can be read by its owner only, and replaces another only if it may', async () => {
    const folder = newFolder()
    const out = join(folder, 'report.txt')
    await writeOutput(out, 'one', undefined)
    expect(statSync(out).mode & 0o777).toBe(0o600)
    await expect(writeOutput(out, 'two', undefined)).rejects.toThrow('exists. Give another name')
    expect(readFileSync(out, 'utf8')).toBe('one')
    await writeOutput(out, 'three', true)
    expect(readFileSync(out, 'utf8')).toBe('three')
    expect(readdirSync(folder)).toEqual(['report.txt'])
  })

  it('is left as it was, without a part of a new one, if that cannot be written', async () => {
    const folder = newFolder()
    const out = join(folder, 'report.txt')
    writeFileSync(out, 'before')
    const unwritable = { toString: () => 'x' } as unknown as string
    await expect(writeOutput(out, unwritable, true)).rejects.toThrow(`${out} cannot be written`)
    expect(readFileSync(out, 'utf8')).toBe('before')
    mkdirSync(join(folder, 'taken'))
    await expect(writeOutput(join(folder, 'taken'), 'text', true)).rejects.toThrow('is a folder')
    expect(readdirSync(folder).toSorted()).toEqual(['report.txt', 'taken'])
  })
})
