import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readArguments, toWhole } from '../../build/tool-arguments.ts'
import { TABBAT } from '../process/tabbat.ts'

type StartRound = {
  readonly isStarted: boolean
  readonly code: number | null
  readonly stderr: string
}

const WORKERS = 2
const GIVE_UP_MS = 60_000

/** Starts a server with two workers on an empty folder, waits until both have started, and stops it. */
export async function startOnEmptyFolder(): Promise<StartRound> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tabbat-start-'))
  const child = spawn(TABBAT.file, ['serve'], {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: tmpdir(),
      TABBAT_DATA_DIR: join(dataDir, 'data'),
      TABBAT_PORT: '0',
      TABBAT_ADMIN_PORT: '0',
      TABBAT_WORKERS: String(WORKERS),
      TABBAT_SHUTDOWN_DELAY: 'off',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const closed = once(child, 'close')
  const stderr = await readUntilStarted(child)
  const isStarted = countStarted(stderr.text) === WORKERS && !/worker_(died|restarted)/.test(stderr.text)
  child.kill('SIGTERM')
  const [code] = (await closed) as [number | null]
  rmSync(dataDir, { recursive: true, force: true })
  return { isStarted, code, stderr: stderr.text }
}

const countStarted = (text: string) => text.split('"event":"started"').length - 1

/** Reads all output, so that the child never blocks; resolves when both have started or the child ended. */
function readUntilStarted(child: ChildProcess): Promise<{ text: string }> {
  const read = { text: '' }
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, GIVE_UP_MS, read)
    const finish = () => {
      clearTimeout(timer)
      resolve(read)
    }
    child.stderr?.on('data', (piece: Buffer) => {
      read.text += piece.toString()
      if (countStarted(read.text) >= WORKERS) finish()
    })
    child.once('close', finish)
  })
}

const HELP = `npm run battery:start -- [rounds]

Starts a server with two workers on an empty folder and stops it, 500 times or as often as you say. Exits with 1 when a round
failed.`

if (import.meta.main) {
  const [given = '500'] = readArguments(HELP, {}, { positionals: 1 }).positionals
  const rounds = toWhole('The number of rounds', given)
  let failed = 0
  for (let round = 1; round <= rounds; round++) {
    const { isStarted, code, stderr } = await startOnEmptyFolder()
    if (isStarted && code === 0) continue
    failed += 1
    console.log(`round ${round}: started ${isStarted}, exit ${code}\n${stderr}`)
  }
  console.log(`${rounds} rounds, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
}
