import { execFile, execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { VERSION } from '../../src/version.ts'
import { whyMissing } from '../cluster/programs.ts'
import { ENVIRONMENT, succeeds } from '../examples/languages.ts'
import { type ClientServer, openClientServer } from './open-server.ts'
import { outputOf, postWebhooks, readExamples } from './readme-examples.ts'

const PACKAGE = 'packages/python'
const missing = whyMissing('python3')

/** Found, not imported: pip and setuptools of Debian cannot be imported in any order. */
const FIND_BUILDER =
  'import sys, importlib.util as util; sys.exit(not all(map(util.find_spec, ["pip", "setuptools", "wheel"])))'

/** The default Python, or that of Debian, if it can build without a network. */
const builder = ['python3', '/usr/bin/python3'].find((program) => succeeds(program, '-c', FIND_BUILDER))
if (!missing && !builder)
  console.warn('\nThe package for Python was not built: pip, setuptools and wheel are not installed.\n')

const run = (program: string, ...args: string[]) =>
  execFileSync(program, args, {
    encoding: 'utf8',
    env: { ...ENVIRONMENT, PIP_DISABLE_PIP_VERSION_CHECK: '1' },
  })

/** Imports of anything else than this package and the standard library, and syntax that Python 3.9 does not have. */
const CHECK_SOURCES = `
import ast, pathlib, sys
for file in pathlib.Path(sys.argv[1]).rglob("*.py"):
    tree = ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 9))
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names.append(node.module)
        for name in names:
            if name.split(".")[0] not in sys.stdlib_module_names:
                print(file, name)
`

const COMPARE_CLIENTS = `
import inspect
from tabbat import AsyncTabbat, Tabbat
pairs = [(Tabbat, AsyncTabbat)]
one, other = (kind(key="k", base_url="http://127.0.0.1") for kind in pairs[0])
pairs += [(type(one.pending), type(other.pending)), (type(one.batches), type(other.batches))]
for sync, asynchronous in pairs:
    for name, method in inspect.getmembers(sync, inspect.isfunction):
        if name.startswith("_") and name != "__init__":
            continue
        twin = getattr(asynchronous, {"close": "aclose"}.get(name, name))
        one, other = (
            [(each.name, each.kind, each.default) for each in inspect.signature(function).parameters.values()]
            for function in (method, twin)
        )
        print(sync.__name__, name, "same" if one == other else "differs")
`

describe('the package for Python', () => {
  if (missing) return void it.skip(`is not tested: ${missing}`)

  let folder: string
  let installed: string
  let server: ClientServer
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tabbat-python-'))
    installed = join(folder, 'installed')
    if (builder) {
      // A copy: setuptools writes beside the sources.
      cpSync(PACKAGE, join(folder, 'source'), { recursive: true })
      const offline = ['--quiet', '--no-index', '--no-deps']
      const wheels = ['--no-build-isolation', '--wheel-dir', folder]
      run(builder, '-m', 'pip', 'wheel', ...offline, ...wheels, join(folder, 'source'))
      const [wheel = ''] = globSync(join(folder, '*.whl'))
      run(builder, '-m', 'pip', 'install', ...offline, '--target', installed, wheel)
    } else cpSync(join(PACKAGE, 'src'), installed, { recursive: true })
    server = await openClientServer()
  })
  afterAll(async () => {
    await server.close()
    rmSync(folder, { recursive: true })
  })

  it.skipIf(!builder)('is built as a wheel with its metadata, licence, types and nothing else', () => {
    const files = globSync('**/*', { cwd: installed, withFileTypes: true })
      .filter((file) => file.isFile() && !file.parentPath.includes('__pycache__'))
      .map((file) => join(file.parentPath, file.name).slice(installed.length + 1))
    const sources = globSync('**/*.{py,typed}', { cwd: join(PACKAGE, 'src') })
    expect(files.filter((file) => !file.includes('.dist-info/')).toSorted()).toEqual(sources.toSorted())
    expect(files.filter((file) => /LICENSE$/.test(file))).toHaveLength(1)
    const [metadata = ''] = files.filter((file) => /METADATA$/.test(file))
    const text = readFileSync(join(installed, metadata), 'utf8')
    expect(text).toContain(`\nName: tabbat\nVersion: ${VERSION}\n`)
    expect(text).toMatch(/^Requires-Python: >=3\.9$/m)
    expect(text).toMatch(/^Classifier: License :: OSI Approved :: Apache Software License$/m)
    expect(text).toMatch(/^Project-URL: Changelog, https:/m)
    expect(text).toContain('Description-Content-Type: text/markdown')
    expect(text).not.toMatch(/^Requires-Dist/m)
  })

  it('has the licence', () => {
    expect(readFileSync(`${PACKAGE}/LICENSE`, 'utf8')).toBe(readFileSync('LICENSE', 'utf8'))
  })

  it('uses the syntax of Python 3.9 and the standard library only', () => {
    expect(run('python3', '-c', CHECK_SOURCES, `${PACKAGE}/src`)).toBe('')
  })

  it('has the same parameters in both clients', () => {
    const env = { ...ENVIRONMENT, PYTHONPATH: installed }
    const lines = execFileSync('python3', ['-c', COMPARE_CLIENTS], { encoding: 'utf8', env })
      .trim()
      .split('\n')
    expect(lines.length).toBeGreaterThanOrEqual(13)
    expect(lines.filter((line) => !line.endsWith(' same'))).toEqual([])
  })

  it('may be shared by threads and with a forked process, and ends the call of a task that is cancelled', async () => {
    const command = ['python3', join(import.meta.dirname, 'runners/sharing.py')] as const
    const output = await outputOf(command, { PYTHONPATH: installed, TABBAT_URL: server.url })
    expect(output).toBe('threads True True\nfork True True\ncancelled []\n')
  })

  const caller = [
    'from tabbat import Tabbat',
    'result = Tabbat(key="k", base_url="u").verify_nin(nin="n", phone="p")',
    'if result.verified:',
    '    gender: str = result.person["personal_info"]["gender"]',
    'elif result.pending:',
    '    reference: str = result.reference',
  ]

  // mypy reads the standard library when it has no cache, which takes minutes on a busy machine.
  it.skipIf(whyMissing('mypy') !== undefined)(
    'passes mypy --strict, and so does a caller who reads a result',
    async () => {
      const file = join(folder, 'caller.py')
      writeFileSync(file, `${caller.join('\n')}\n`)
      const sources = join(process.cwd(), PACKAGE, 'src')
      const args = ['--strict', '--python-version', '3.9', '--cache-dir', 'node_modules/.cache/mypy']
      const { stdout } = await promisify(execFile)('mypy', [...args, '-p', 'tabbat', '-m', 'caller'], {
        env: { ...process.env, MYPYPATH: `${sources}:${folder}` },
      })
      expect(stdout).toMatch(/^Success/)
    },
    600_000,
  )

  describe('the five examples of the README', () => {
    const examples = readExamples(PACKAGE, 'python')
    const write = (index: number) => {
      mkdirSync(join(folder, 'examples'), { recursive: true })
      const file = join(folder, 'examples', `example_${index}.py`)
      writeFileSync(file, examples[index] ?? '')
      return file
    }

    it.each([
      [0, /^verified [mf]\n$/],
      [1, /^validation_failed 422 False \['bvn'\]\n$/],
      [2, /^cancelled\n$/],
      [3, /^refused 2 nin\ncustomer 1 done\ncustomer 2 refused\nTrue True\n$/],
    ])('example %i', async (index, expected) => {
      const env = { PYTHONPATH: installed, TABBAT_URL: server.url }
      expect(await outputOf(['python3', write(index)], env)).toMatch(expected)
    })

    it('example 4, a receiver of webhooks', async () => {
      expect(examples).toHaveLength(5)
      await postWebhooks((port, secret) => ({
        command: ['python3', write(4)],
        env: { PYTHONPATH: installed, PORT: port, WEBHOOK_SECRET: secret },
      }))
    })
  })
})
