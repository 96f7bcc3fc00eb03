import { spawn } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { findFreePort } from '../free-port.ts'
import { type Settings, startServer, TABBAT } from './tabbat.ts'

/** A block that a reader pastes, and what the page says that it prints. */
type Step = { readonly commands: string; readonly shown: readonly Shown[] }
type Shown = { readonly language: string; readonly content: string }

const BLOCK = /^```(sh run|json shown|text shown)\n([\s\S]*?)^```$/gm

/** The blocks of a page that are marked as runnable, in order: ```sh run, each with the ```json shown or ```text shown after it. */
function readSteps(page: string): Step[] {
  const steps: { commands: string; shown: Shown[] }[] = []
  for (const [, mark = '', content = ''] of readFileSync(page, 'utf8').matchAll(BLOCK))
    if (mark === 'sh run') steps.push({ commands: content, shown: [] })
    else steps.at(-1)?.shown.push({ language: mark.split(' ')[0] ?? '', content })
  return steps
}

const toPattern = (line: string) => RegExp.escape(line.trim()).split(RegExp.escape('…')).join('.*')

/** Whether a value has what the page shows: other members may stand beside them, and … stands for any text. */
function contains(actual: unknown, shown: unknown): boolean {
  if (typeof shown === 'string')
    return typeof actual === 'string' && new RegExp(`^${toPattern(shown)}$`).test(actual)
  if (typeof shown !== 'object' || shown === null) return actual === shown
  if (typeof actual !== 'object' || actual === null) return false
  return Object.entries(shown).every(([name, value]) =>
    contains((actual as Record<string, unknown>)[name], value),
  )
}

/** JSON: a line of the output has what is shown. Text: its lines are in the output, in this order. */
function isShown({ language, content }: Shown, output: string): boolean {
  if (language === 'json')
    return output
      .split('\n')
      .some((line) => line.startsWith('{') && contains(JSON.parse(line), JSON.parse(content)))
  const lines = content.trim().split('\n').map(toPattern)
  return new RegExp(`(^|\n)${lines.join('\\s*\\n(?:.*\\n)*?')}\\s*(\n|$)`).test(output)
}

const MARK = '-- end of a block --'

/** Pastes all blocks into one shell, in a folder that looks like a checkout, and returns what each printed. */
async function paste(
  steps: readonly Step[],
  { folder, settings, url }: { folder: string; settings: Settings; url: string },
): Promise<string[]> {
  for (const name of ['docs', 'node_modules']) symlinkSync(resolve(name), join(folder, name))
  mkdirSync(join(folder, 'bin'))
  symlinkSync(resolve(TABBAT.file), join(folder, 'bin/tabbat'))
  const port = String(await findFreePort())
  const script = steps
    .map(({ commands }) => `${commands}\necho\necho '${MARK}'\n`)
    .join('')
    .replaceAll('http://127.0.0.1:8080', url)
    .replaceAll('3000', port)
  const shell = spawn('bash', ['-c', script], {
    cwd: folder,
    env: { PATH: `${join(folder, 'bin')}:${process.env.PATH ?? ''}`, HOME: tmpdir(), ...settings },
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    return (await text(shell.stdout)).replaceAll('\r', '').split(`${MARK}\n`)
  } finally {
    // What a block has started and not ended.
    if (shell.exitCode === null) process.kill(-(shell.pid as number))
  }
}

const PAGES = globSync('docs/**/*.md').filter((page) => readSteps(page).length > 0)

it('has pages with blocks to run', () => expect(PAGES).toContain('docs/integrate.md'))

describe.each(PAGES)('%s', (page) => {
  it('shows what its blocks print when they are pasted one after the other', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tabbat-page-'))
    const settings = { TABBAT_WEBHOOKS_PRIVATE: 'on', TABBAT_LOG_LEVEL: 'silent' }
    // The blocks find the data where it lies without a setting: in ./data of the folder in which they are pasted.
    const server = await startServer({ ...settings, TABBAT_DATA_DIR: join(folder, 'data') })
    try {
      const steps = readSteps(page)
      const outputs = await paste(steps, { folder, settings, url: server.url })
      expect(outputs).toHaveLength(steps.length + 1)
      steps.forEach(({ commands, shown }, at) => {
        for (const each of shown)
          expect(isShown(each, outputs[at] ?? ''), `${commands}\n${each.content}\n${outputs[at]}`).toBe(true)
      })
    } finally {
      await server.stop()
    }
  }, 300_000)
})
