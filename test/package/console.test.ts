import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import config from '../../console/vite.config.ts'

function build(out: string, environment: Record<string, string>): [name: string, bytes: string][] {
  execFileSync(process.execPath, ['console/build.ts', '--out', out], {
    ...{ env: { ...process.env, ...environment }, stdio: 'ignore' },
  })
  const files = readdirSync(out, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files
    .map(({ parentPath, name }): [string, string] => [name, readFileSync(join(parentPath, name), 'base64')])
    .toSorted()
}

it('the page is the same with NODE_ENV=development, and has no path of the builder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-console-'))
  const usual = build(join(folder, 'usual'), { NODE_ENV: 'production' })
  expect(usual.length).toBeGreaterThan(10)
  const other = build(join(folder, 'other'), { NODE_ENV: 'development' })
  expect(other.map(([name]) => name)).toEqual(usual.map(([name]) => name))
  expect(other.filter(([, bytes], index) => bytes !== usual[index]?.[1])).toEqual([])
  const named = other.filter(([, bytes]) => Buffer.from(bytes, 'base64').includes(process.cwd()))
  expect(named.map(([name]) => name)).toEqual([])
  rmSync(folder, { recursive: true })
})

it('the page does not depend on a .env file', () => {
  expect(config).toMatchObject({ envDir: false })
})
