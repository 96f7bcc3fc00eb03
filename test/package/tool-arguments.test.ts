import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }

/** The file that gets the arguments of a script: the last one. */
const findTool = (text: string) => /node (?:--\S+ )*(\S+\.ts)$/.exec(text)?.[1]
const TOOLS = Object.entries(scripts).flatMap(([name, text]): [string, string][] => {
  const file = findTool(text)
  // The bench reads its own in a file beside it.
  const takes = [file, file?.replace(/bench\.ts$/, 'options.ts')].some(
    (each) => each !== undefined && readFileSync(each, 'utf8').includes('readArguments('),
  )
  return file !== undefined && takes ? [[name, file]] : []
})

type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

function run(file: string, ...args: string[]): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>()
  const flags = ['--disable-warning=ExperimentalWarning', file, ...args]
  const child = execFile(process.execPath, flags, (_error, stdout, stderr) =>
    resolve({ code: child.exitCode, stdout, stderr }),
  )
  return promise
}

it.each(TOOLS)('npm run %s has a help, and refuses an option that it does not know', async (name, file) => {
  const [help, refused] = [await run(file, '--help'), await run(file, '--oops')]
  expect(help).toMatchObject({ code: 0, stderr: '' })
  expect(help.stdout).toMatch(new RegExp(`^npm run ${name} -- \\[`))
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toBe("Unknown option '--oops'. --help shows what can be given.\n")
})

it.each([
  ['simulate', ['--jobs', '0'], '--jobs must be a whole number of 1 or more.'],
  ['simulate', ['--seeds', '0'], '--seeds must be a whole number of 1 or more.'],
  ['simulate', ['--seeds', '-1'], "Option '--seeds' argument is ambiguous."],
  ['simulate', ['--engine', 'oracle'], '--engine must be one of: sqlite, postgres.'],
  ['simulate:defects', ['--jobs', '0'], '--jobs must be a whole number of 1 or more.'],
  ['simulate:defects', ['none'], 'No defect is called none.'],
  ['fuzz', ['--seed', 'x'], '--seed must be a whole number of 0 or more.'],
  ['fuzz', ['--only', 'none'], '--only must be one of: '],
  ['fuzz', ['--minutes', '0'], '--minutes must be a number above 0.'],
  [
    'mutation',
    ['--files', 'src/none/*'],
    'No file that has mutants or tests of them matches --files src/none/*.',
  ],
  ['mutation', ['--since', 'none'], 'git knows no commit none.'],
  ['coverage', ['--from', 'none'], '--from must be a folder'],
  ['coverage', ['--of', 'src/main.ts'], '--of must name folders of this checkout, separated by commas.'],
  ['coverage', ['test/none'], 'There is no "test/none" in this checkout.'],
  ['build:check', ['--target', 'none'], '--target must be one of: '],
  ['build:release', ['--target', 'none'], '--target must be one of: '],
  ['sbom', ['one'], 'The argument "one" is one too many.'],
  ['soak', ['--out', 'package.json'], '--out package.json is no folder that can be written (EEXIST).'],
  ['bench', ['--only', 'none'], '--only must be one of: '],
  ['bench:audit', ['none'], 'The number of rows must be a whole number of 1 or more.'],
])('npm run %s -- %j is refused in a sentence', async (name, args, sentence) => {
  const { code, stdout, stderr } = await run(findTool(scripts[name] ?? '') ?? '', ...args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr.startsWith(sentence), stderr).toBe(true)
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
})

it('each tool reads its arguments there', () => {
  const files = globSync('{build,bench,console,guide,test}/**/*.ts', {
    exclude: (name) => name === 'node_modules',
  })
  const reading = files.filter((file) => /\bparseArgs\(/.test(readFileSync(file, 'utf8')))
  expect(reading).toEqual([join('build', 'tool-arguments.ts')])
})
