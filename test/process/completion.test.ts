import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { tabbat } from './tabbat.ts'

/** Scripts that print what each shell would offer for a command line. */
const SHELLS = {
  bash: (script: string, words: readonly string[]) =>
    `source ${script}; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _tabbat; printf '%s\\n' "\${COMPREPLY[@]}"`,
  // The completion of zsh needs a terminal, so its functions are replaced by ones that print.
  zsh: (script: string, words: readonly string[]) =>
    `compdef() { }; _files() { print -l -- * }; _describe() { print -l -- \${words_here%%:*} }; compadd() { print -l -- \${@:#--} }; source ${script}; words=(${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length}; _tabbat`,
  fish: (script: string, words: readonly string[]) =>
    `source ${script}; complete -C '${words.join(' ')}' | cut -f1`,
} as const

type Shell = keyof typeof SHELLS

describe.each(Object.keys(SHELLS) as Shell[])('tabbat completion %s', (shell) => {
  const isMissing = spawnSync(shell, ['-c', 'exit 0']).status !== 0
  if (isMissing) console.log(`${shell} is not installed: its completion is not tested.`)
  const script = join(mkdtempSync(join(tmpdir(), 'tabbat-completion-')), 'script')
  const offer = (...words: string[]) =>
    spawnSync(shell, ['-c', SHELLS[shell](script, words)], { encoding: 'utf8' }).stdout.split('\n')

  beforeAll(async () => {
    const { code, stdout } = await tabbat({}, 'completion', shell)
    expect(code).toBe(0)
    writeFileSync(script, stdout)
  })

  it.skipIf(isMissing)('offers commands, subcommands, options and values', () => {
    expect(offer('tabbat', '')).toEqual(expect.arrayContaining(['serve', 'keys', 'audit']))
    expect(offer('tabbat', '')).not.toContain('generate')
    expect(offer('tabbat', 'keys', '')).toEqual(expect.arrayContaining(['create', 'revoke']))
    expect(offer('tabbat', 'keys', 'create', '--')).toContain('--mode')
    expect(offer('tabbat', 'keys', 'create', '--mode', '')).toEqual(expect.arrayContaining(['test', 'live']))
    expect(offer('tabbat', 'import', '')).toEqual(expect.arrayContaining(['nin', 'bvn']))
    expect(offer('tabbat', 'simulate', '')).toEqual(expect.arrayContaining(['dojah', 'vtpass']))
    expect(offer('tabbat', 'admin', 'role', 'ada', '')).toEqual(expect.arrayContaining(['viewer', 'owner']))
  })

  it.skipIf(isMissing)('leaves file arguments to the shell', () => {
    const words = ['nin', 'bvn', '--format', '--json']
    expect(offer('tabbat', 'import', 'nin', '').filter((word) => words.includes(word))).toEqual([])
    expect(offer('tabbat', 'import', 'nin', '--')).toContain('--format')
  })
})

it('names the supported shells', async () => {
  const { code, stderr } = await tabbat({}, 'completion', 'nu')
  expect(code).toBe(1)
  expect(stderr).toContain('bash, zsh, fish')
})

it('does not take a property name of objects as a command', async () => {
  const { code, stderr } = await tabbat({}, 'toString')
  expect(code).toBe(1)
  expect(stderr).toContain("unknown command 'toString'")
})
