import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findPython } from '../../build/clients.ts'
import { VERSION } from '../../src/version.ts'
import { whyMissing } from '../cluster/programs.ts'
import { ENVIRONMENT, succeeds, whyMissingPhp } from '../examples/languages.ts'

const hasPython = succeeds('/usr/bin/python3', '-c', 'import setuptools, wheel, pip')
if (!hasPython)
  console.warn('\nThe clients of a release were not built: setuptools, wheel and pip are not installed.\n')
const hasComposer =
  whyMissing('composer') === undefined &&
  whyMissingPhp() === undefined &&
  succeeds('php', '-r', 'exit((int) !extension_loaded("zip"));')
if (!hasComposer)
  console.warn('\nThe zip for Composer was not installed: composer or php-zip is not installed.\n')

const BUILD = `
  import { findPython, packPhp, packPython } from './build/clients.ts'
  process.umask(Number(process.env.UMASK))
  packPhp(process.env.OUT)
  packPython(process.env.OUT, findPython())
`

/** As on another machine. */
function build(folder: string, name: string, environment: Record<string, string>): string {
  const out = join(folder, name)
  mkdirSync(out)
  const env = { ...process.env, ...environment, OUT: out }
  execFileSync(process.execPath, ['--input-type=module-typescript', '--eval', BUILD], { env, stdio: 'pipe' })
  return out
}

const toSums = (folder: string) =>
  readdirSync(folder)
    .toSorted()
    .map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ])

describe.skipIf(!hasPython)('the clients of a release', () => {
  let folder: string
  let out: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'tabbat-clients-'))
    out = build(folder, 'first', { TZ: 'Africa/Lagos', LANG: 'C', UMASK: '18' })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('are a zip for PHP, and a wheel and a source archive for Python', () => {
    expect(readdirSync(out).toSorted()).toEqual([
      `tabbat-${VERSION}-py3-none-any.whl`,
      `tabbat-${VERSION}.tar.gz`,
      `tabbat-client-php-${VERSION}.zip`,
    ])
  })

  it('are the same bytes in another time zone, in another language and with other rights of files', () => {
    const again = build(folder, 'another folder', {
      TZ: 'Pacific/Auckland',
      LANG: 'en_NG.UTF-8',
      UMASK: '63',
    })
    expect(toSums(again)).toEqual(toSums(out))
  })

  it.skipIf(!hasComposer)('are installed by Composer from the folder, without a network', () => {
    const project = join(folder, 'shop')
    mkdirSync(project)
    const manifest = {
      repositories: [{ type: 'artifact', url: out }, { 'packagist.org': false }],
      require: { 'tabbat/client': `^${VERSION}` },
    }
    writeFileSync(join(project, 'composer.json'), JSON.stringify(manifest))
    const env = {
      ...ENVIRONMENT,
      COMPOSER_HOME: join(folder, 'composer'),
      COMPOSER_DISABLE_NETWORK: '1',
      COMPOSER_ALLOW_SUPERUSER: '1',
    }
    execFileSync('composer', ['install', '--no-interaction', '--quiet'], { cwd: project, env })
    const code =
      'require "vendor/autoload.php"; echo get_debug_type(new Tabbat\\Tabbat("k", "http://127.0.0.1"));'
    expect(execFileSync('php', ['-r', code], { cwd: project, encoding: 'utf8' })).toBe('Tabbat\\Tabbat')
  })

  it.each(['-py3-none-any.whl', '.tar.gz'])('tabbat-…%s is installed by pip, without a network', (ending) => {
    const target = join(folder, `installed${ending}`)
    const offline = ['--quiet', '--no-index', '--no-deps', '--no-build-isolation', '--target', target]
    const { program } = findPython()
    const env = { ...ENVIRONMENT, PIP_DISABLE_PIP_VERSION_CHECK: '1', PIP_ROOT_USER_ACTION: 'ignore' }
    execFileSync(program, ['-m', 'pip', 'install', ...offline, join(out, `tabbat-${VERSION}${ending}`)], {
      env,
    })
    const code =
      'import tabbat; print(tabbat.__version__, tabbat.Tabbat(key="k", base_url="http://127.0.0.1"))'
    const printed = execFileSync('python3', ['-c', code], {
      env: { ...ENVIRONMENT, PYTHONPATH: target },
      encoding: 'utf8',
    })
    expect(printed).toBe(`${VERSION} Tabbat(base_url='http://127.0.0.1')\n`)
  })
})
