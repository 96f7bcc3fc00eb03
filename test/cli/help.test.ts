import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import type { Command, CommanderError } from 'commander'
import { describe, expect, it } from 'vitest'
import { createFullProgram } from '../../src/cli/program.ts'
import { listSettings } from '../../src/context/config.ts'
import { TABBAT, tabbat } from '../process/tabbat.ts'
import { listCommands, parse } from './parse.ts'

const commands = listCommands(await createFullProgram())

/** The help as it is printed. */
function toHelp(command: Command): string {
  let text = ''
  command.configureOutput({
    writeOut: (piece) => {
      text += piece
    },
  })
  command.outputHelp()
  return text
}

const toExamples = (help: string) =>
  [...(help.split('\nExamples:\n')[1] ?? '').matchAll(/^ {2}(tabbat .*)$/gm)].map(([, line = '']) => line)

it('walks all commands', () => {
  expect(commands.map(({ path }) => path)).toEqual(
    expect.arrayContaining([
      'tabbat',
      'tabbat help',
      'tabbat serve',
      'tabbat keys create',
      'tabbat audit prove',
    ]),
  )
})

describe.each(commands)('tabbat help: $path', ({ path, command }) => {
  const help = toHelp(command)
  const isGroup = command.commands.length > 0 && command.registeredArguments.length === 0

  it('has a synopsis and a description', () => {
    expect(help).toContain(`Usage: ${path}`)
    expect(command.description()).not.toBe('')
    for (const option of command.options) expect(option.description, option.flags).not.toBe('')
    for (const argument of command.registeredArguments)
      expect(argument.description, argument.name()).not.toBe('')
  })

  it('has exit codes, unless it only groups commands', () => {
    const codes = help.match(/^Exit codes:\n {2}0 +\S.*\n {2}1 +\S/m)
    expect(codes === null).toBe(isGroup)
  })

  it('has two examples, which the parser accepts', async () => {
    const examples = toExamples(help)
    expect(examples.length).toBeGreaterThanOrEqual(2)
    for (const example of examples) {
      const run = await parse(example).catch((error: CommanderError) => `${example}: ${error.message}`)
      expect(run.startsWith(path), run).toBe(true)
    }
  })

  it('names the field of the database only if --json prints an object', () => {
    const json = command.options.find(({ long }) => long === '--json')
    const hasField = json?.description.includes('object') ?? false
    expect(help.replaceAll(/\s+/g, ' ').includes('in the field "database"')).toBe(
      hasField && /^Settings .*\n {2}TABBAT_DATA_DIR/m.test(help),
    )
  })

  it('keeps command lines in one piece', () => {
    for (const [line] of help.matchAll(/^ {2}curl.*$/gm)) expect(line).toMatch(/ -d '.*'$/)
  })

  it('names settings that exist', () => {
    const known = new Set(listSettings().map(({ env }) => env))
    const named = [...help.matchAll(/TABBAT_[A-Z_]+[A-Z]/g)].map(([name]) => name)
    expect(named.filter((name) => !known.has(name))).toEqual([])
  })
})

describe('tabbat help', () => {
  it('prints the help of a command of a group', async () => {
    const { code, stdout } = await tabbat({}, 'help', 'keys', 'create')
    expect([code, stdout.startsWith('Usage: tabbat keys create')]).toEqual([0, true])
    expect((await tabbat({}, 'keys', 'create', '--help')).stdout).toBe(stdout)
  })

  it('prints no error when the reader closes the pipe', async () => {
    const child = spawn(TABBAT.file, ['help', 'keys', 'create'], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
    expect([code, stderr]).toEqual([0, ''])
  })

  it('refuses a command that does not exist, and does not repeat it', async () => {
    const { code, stderr } = await tabbat({}, 'help', 'keys', '12345678901')
    expect([code, stderr]).toEqual([1, 'error: There is no such command. Run "tabbat help" for the list.\n'])
  })
})
