import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { toManPage } from '../../src/cli/help-command.ts'
import { createFullProgram } from '../../src/cli/program.ts'
import { whyMissing } from '../cluster/programs.ts'
import { listCommands } from './parse.ts'

const program = await createFullProgram()
const page = toManPage(program)
const missing = whyMissing('groff')

it('describes every command', () => {
  const paths = listCommands(program).map(({ path }) => path.replaceAll('-', '\\-'))
  const titles = [...page.matchAll(/^\.SS "(tabbat [^["<]+)/gm)].map(([, title = '']) => title.trim())
  expect(titles.toSorted()).toEqual(paths.filter((path) => path !== 'tabbat').toSorted())
})

it.skipIf(missing !== undefined)(
  `is read by groff without a warning${missing ? ` (skipped: ${missing})` : ''}`,
  () => {
    const { status, stdout, stderr } = spawnSync('groff', ['-man', '-Kutf8', '-Tutf8', '-ww', '-P-cbou'], {
      input: page,
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([0, ''])
    // A command can be copied from the page.
    expect(stdout).toContain('tabbat keys create --name shop --mode test --expires 90d')
    expect(stdout).toContain('tabbat keys revoke k3JbvwRd --json')
  },
)
