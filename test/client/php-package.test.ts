import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { VERSION } from '../../src/version.ts'
import { whyMissing } from '../cluster/programs.ts'
import { ENVIRONMENT, LARAVEL, whyMissingPhp } from '../examples/languages.ts'
import { type ClientServer, openClientServer } from './open-server.ts'
import { outputOf, postWebhooks, readExamples } from './readme-examples.ts'

const PACKAGE = 'packages/php'
const missing = whyMissingPhp()
const hasComposer = whyMissing('composer') === undefined
const hasLaravel = existsSync(LARAVEL)
for (const [name, isThere] of Object.entries({ Composer: hasComposer, Laravel: hasLaravel }))
  if (!missing && !isThere)
    console.warn(`\nThe package for PHP was not tested with ${name}: not installed.\n`)

const manifest = JSON.parse(readFileSync(`${PACKAGE}/composer.json`, 'utf8'))

/** Folders with the package installed: by Composer without a network, and by a copy. */
const INSTALLATIONS: Readonly<Record<string, (folder: string) => void>> = {
  ...(hasComposer && { 'by Composer from a folder': installByComposer }),
  'by a copy': (folder) => {
    mkdirSync(join(folder, 'vendor'))
    cpSync(PACKAGE, join(folder, 'vendor'), { recursive: true })
  },
}

function installByComposer(folder: string): void {
  const source = { type: 'path', url: resolve(PACKAGE), options: { symlink: false } }
  const project = {
    repositories: [source, { 'packagist.org': false }],
    require: { 'tabbat/client': `^${VERSION}` },
  }
  writeFileSync(join(folder, 'composer.json'), JSON.stringify(project))
  composer(folder, 'install', '--no-interaction', '--quiet')
}

const composer = (cwd: string, ...args: string[]) =>
  execFileSync('composer', args, {
    cwd,
    env: {
      ...ENVIRONMENT,
      COMPOSER_HOME: resolve(tmpdir(), 'tabbat-composer'),
      COMPOSER_DISABLE_NETWORK: '1',
      COMPOSER_ALLOW_SUPERUSER: '1',
    },
    encoding: 'utf8',
  })

describe('the package for PHP', () => {
  if (missing) return void it.skip(`is not tested: ${missing}`)

  let server: ClientServer
  beforeAll(async () => {
    server = await openClientServer()
  })
  afterAll(() => server.close())

  it('has the licence, and no dependency but PHP and its extensions', () => {
    expect(readFileSync(`${PACKAGE}/LICENSE`, 'utf8')).toBe(readFileSync('LICENSE', 'utf8'))
    expect(Object.keys(manifest.require).filter((name) => !/^(php|ext-\w+)$/.test(name))).toEqual([])
    expect(manifest.require.php).toBe('>=8.1')
  })

  it.skipIf(!hasComposer)('has a manifest that Composer accepts', () => {
    composer(PACKAGE, 'validate', '--strict', '--no-check-version', '--no-check-lock')
  })

  const files = globSync(`${PACKAGE}/**/*.php`)
  it.each(files)('%s has strict types and no syntax after PHP 8.1', (file) => {
    execFileSync('php', ['-l', file])
    const code = readFileSync(file, 'utf8')
    expect(code).toContain('declare(strict_types=1);')
    // Classes that are readonly, types of constants, attributes and functions of 8.2 and later.
    expect(code).not.toMatch(
      /readonly class|const (?:string|int|array|float|bool) \w|#\[\\Override\]|json_validate|array_find/,
    )
  })

  describe.each(Object.entries(INSTALLATIONS))('installed %s', (_how, install) => {
    let folder: string
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'tabbat-php-'))
      install(folder)
    })
    afterAll(() => rmSync(folder, { recursive: true }))

    const examples = readExamples(PACKAGE, 'php')
    const write = (index: number) => {
      const file = join(folder, `example-${index}.php`)
      writeFileSync(file, examples[index] ?? '')
      return file
    }

    it.each([
      [0, /^verified [mf]\n$/],
      [1, /^validation_failed 422 false bvn\n$/],
      [2, /^cancelled\n$/],
      [3, /^refused 2 nin\ncustomer 1 done\ncustomer 2 refused\ntrue true\n$/],
    ])('runs example %i of the README', async (index, expected) => {
      expect(await outputOf(['php', write(index)], { TABBAT_URL: server.url })).toMatch(expected)
    })

    it('runs example 4 of the README, a receiver of webhooks', async () => {
      expect(examples).toHaveLength(5)
      await postWebhooks((port, secret) => ({
        command: ['php', '-q', '-S', `127.0.0.1:${port}`, write(4)],
        env: { WEBHOOK_SECRET: secret },
      }))
    })
  })

  it.skipIf(!hasLaravel)('gives Laravel a client, made from the environment', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tabbat-laravel-'))
    const command = ['php', join(import.meta.dirname, 'runners/laravel.php'), LARAVEL, folder] as const
    const output = await outputOf(command, { TABBAT_URL: server.url })
    expect(output.split('\n')).toEqual([
      'verified',
      'one client for all',
      `${folder}/config/tabbat.php`,
      'invalid_argument: Tabbat is not configured. Set TABBAT_URL and TABBAT_KEY.',
      'its own HTTP client: network_error',
      '',
    ])
    rmSync(folder, { recursive: true })
  })
})
