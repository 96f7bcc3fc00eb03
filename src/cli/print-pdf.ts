import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { chmod, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { listProgramFolders } from '../config/program-folders.ts'
import { UserError } from '../errors.ts'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome', 'msedge']
const MAC_PROGRAMS = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]
const LIMIT_MS = 60_000

/** Where Chromium, or a browser made of it, is on this machine. */
export function requireChromium(): string {
  const found = [
    ...listProgramFolders().flatMap((folder) => NAMES.map((name) => join(folder, name))),
    ...MAC_PROGRAMS,
  ]
  const program = found.find(isProgram)
  if (program !== undefined) return program
  throw new UserError(
    'There is no Chromium on this machine, which makes the PDF. Use --format html, open the file in a browser, and print it.',
  )
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The page is on disk while Chromium reads it, in a folder that only this user can open. */
export async function printPdf(program: string, page: string, out: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tabbat-report-'))
  try {
    const [source, target] = [join(folder, 'report.html'), join(folder, 'report.pdf')]
    await writeFile(source, page, { mode: 0o600 })
    await runChromium(program, [
      ...[
        '--headless',
        '--disable-gpu',
        '--no-pdf-header-footer',
        `--user-data-dir=${join(folder, 'profile')}`,
      ],
      // Chromium refuses its sandbox to root. The page has no script, and its policy loads nothing.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      ...[`--print-to-pdf=${target}`, pathToFileURL(source).href],
    ])
    // Before it is where others could open it. The copy has the same permissions.
    await chmod(target, 0o600)
    await rm(out, { force: true })
    await copyFile(target, out, constants.COPYFILE_EXCL)
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function runChromium(program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { stdio: 'ignore', timeout: LIMIT_MS })
  const failed = new UserError(
    'Chromium could not make the PDF. Use --format html and print it from a browser.',
  )
  const [code] = await once(child, 'exit').catch(() => {
    throw failed
  })
  if (code !== 0) throw failed
}
