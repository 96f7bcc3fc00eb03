import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { VERSION } from '../src/version.ts'

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'))

it.each([
  ['packages/client/package.json', (text: { version: string }) => text.version],
  ['packages/php/composer.json', (text: { version: string }) => text.version],
  ['openapi.json', (text: { info: { version: string } }) => text.info.version],
  ['docs/admin-openapi.json', (text: { info: { version: string } }) => text.info.version],
  ['package-lock.json', (text: { version: string }) => text.version],
])('%s names the version of package.json', (path, find) => expect(find(readJson(path))).toBe(VERSION))

it('the package for Python has the version of package.json', () => {
  const find = (path: string) => /^(?:__)?version(?:__)? = "(.+)"$/m.exec(readFileSync(path, 'utf8'))?.[1]
  expect(find('packages/python/pyproject.toml')).toBe(VERSION)
  expect(find('packages/python/src/tabbat/__init__.py')).toBe(VERSION)
  expect(readFileSync('packages/python/README.md', 'utf8')).toContain(`/tabbat-${VERSION}-py3-none-any.whl`)
})

it('the newest release in the change log is this version', () => {
  const [, newest] = /^## \[(?!Unreleased\])(.+?)\]/m.exec(readFileSync('CHANGELOG.md', 'utf8')) ?? []
  expect(newest).toBe(VERSION)
})
