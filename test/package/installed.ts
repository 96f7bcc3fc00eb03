import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { VERSION } from '../../src/version.ts'
import { newDataDir, type Program, runProgram, type Settings, startServer } from '../process/tabbat.ts'
import { openCollector } from '../telemetry/collector.ts'

/** What must work in every installation. `settings` can empty the PATH. */
export function describeInstalled(toProgram: () => Program, settings: Settings = {}): void {
  const quiet = { ...settings, TABBAT_LOG_LEVEL: 'silent' }

  it('prints its version', async () => {
    expect(await runProgram(toProgram(), settings, '--version')).toMatchObject({
      code: 0,
      stdout: `${VERSION}\n`,
    })
  })

  it('imports records on worker threads, makes a key, and verifies the audit log', async () => {
    const data = { ...quiet, TABBAT_DATA_DIR: newDataDir() }
    const people = `${process.cwd()}/docs/examples/nin.ndjson`
    expect(await runProgram(toProgram(), data, 'import', 'nin', people)).toMatchObject({ code: 0 })
    const made = await runProgram(toProgram(), data, 'keys', 'create', '--name', 'shop', '--mode', 'live')
    expect(made.stdout).toMatch(/^tbt_live_/)
    const server = await startServer(data, toProgram())
    const answer = await verifyNin(server.url, made.stdout.split('\n')[0] ?? '', '70000000001', '08030000001')
    expect(answer).toMatchObject({ success: true, data: { verification_status: 'VERIFIED' } })
    expect(await server.stop()).toBe(0)
    expect(await runProgram(toProgram(), data, 'audit', 'verify')).toMatchObject({ code: 0 })
  })

  it('rehearses: it starts itself again on a copy', async () => {
    const data = { ...quiet, TABBAT_DATA_DIR: newDataDir() }
    await runProgram(toProgram(), data, 'keys', 'create', '--name', 'shop', '--mode', 'live')
    const only = ['restore', 'tampered-log', ...(process.platform === 'win32' ? [] : ['disk-failing'])]
    const { code, stdout, stderr } = await runProgram(
      toProgram(),
      data,
      'rehearse',
      '--json',
      '--only',
      ...only,
    )
    const { exercises } = JSON.parse(stdout || '{}') as { exercises?: { name: string; status: string }[] }
    const statuses = exercises?.map(({ name, status }) => `${name}: ${status}`).toSorted()
    expect(statuses, stderr).toEqual(only.map((name) => `${name}: as_expected`).toSorted())
    expect(code).toBe(0)
  })

  it.each(['1', '2'])('serves the API, the reference and the console with %s workers', async (workers) => {
    const server = await startServer({ ...quiet, TABBAT_WORKERS: workers }, toProgram())
    const answer = await verifyNin(server.url, SANDBOX_KEY, '12345678901', '08031234567')
    expect(answer).toMatchObject({ success: true, data: { verification_status: 'VERIFIED' } })
    expect((await fetch(`${server.url}/docs`)).status).toBe(200)
    expect(await (await fetch(`${server.url}/openapi.json`)).json()).toMatchObject({
      info: { version: VERSION },
    })
    const page = /console +(\S+)/.exec(server.banner)?.[1] ?? ''
    expect(await (await fetch(page)).text()).toContain('<title>')
    expect(await server.stop()).toBe(0)
  })

  it.runIf(process.platform === 'linux')('opens no debugger port on SIGUSR1 during its start', async () => {
    const { file, cwd } = toProgram()
    const env = { ...process.env, ...quiet, TABBAT_DATA_DIR: newDataDir() }
    const ports = { TABBAT_PORT: '0', TABBAT_ADMIN_PORT: '0', TABBAT_SHUTDOWN_DELAY: 'off' }
    const child = spawn(file, ['serve'], {
      cwd,
      env: { ...env, ...ports },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const errors = text(child.stderr)
    // Before that the signal would end it.
    await expect.poll(() => catchesUserSignal(child.pid), { interval: 1 }).toBe(true)
    child.kill('SIGUSR1')
    for await (const piece of child.stdout) if (String(piece).includes('reference')) break
    child.kill('SIGTERM')
    expect([(await once(child, 'close'))[0], await errors]).toEqual([0, ''])
  })

  it('loads the libraries of OpenTelemetry', async () => {
    const collector = await openCollector()
    const server = await startServer({ ...quiet, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, toProgram())
    await verifyNin(server.url, SANDBOX_KEY, '12345678901', '08031234567')
    expect(await server.stop()).toBe(0)
    expect(collector.spans().map(({ name }) => name)).toContain('commit')
    expect(collector.metrics().length).toBeGreaterThan(0)
    await collector.close()
  })
}

/** Whether a process has a handler for SIGUSR1, its own or that of Node.js. Bits count from 1. */
function catchesUserSignal(pid: number | undefined): boolean {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const caught = BigInt(`0x${/^SigCgt:\s*(\S+)/m.exec(status)?.[1]}`)
  return ((caught >> BigInt(constants.signals.SIGUSR1 - 1)) & 1n) === 1n
}

/**
 * Pastes a line of docs/installing.md that starts a server, in a folder with the files of a release and their checksums. A file
 * that was changed is not started.
 */
export function itStartsInOneLine(
  word: string,
  toRelease: () => { readonly folder: string; readonly name: string; readonly path?: string },
): void {
  it('is checked and started by one line of docs/installing.md', async () => {
    const { folder, name, path = process.env.PATH } = toRelease()
    const page = readFileSync('docs/installing.md', 'utf8')
    const line =
      [...page.matchAll(/^sha256sum .*$/gm)].map(([each]) => each).find((each) => each.includes(word)) ?? ''
    const sum = createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
    const others = `${'0'.repeat(64)}  a-file-that-was-not-downloaded\n`
    const paste = (listed: string) => {
      writeFileSync(join(folder, 'SHA256SUMS'), `${listed}  ${name}\n${others}`)
      const env = {
        ...process.env,
        PATH: path,
        TABBAT_PORT: '0',
        TABBAT_ADMIN_PORT: '0',
        TABBAT_DATA_DIR: newDataDir(),
        TABBAT_LOG_LEVEL: 'silent',
      }
      return spawn('bash', ['-c', line], {
        cwd: folder,
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
        detached: true,
      })
    }
    const refused = paste('f'.repeat(64))
    expect(await text(refused.stdout)).toContain(`${name}: FAILED`)
    const child = paste(sum)
    try {
      let banner = ''
      for await (const piece of child.stdout) {
        banner += piece
        if (banner.includes('reference')) break
      }
      const url = /listening on +(\S+)/.exec(banner)?.[1] ?? ''
      expect(await verifyNin(url, SANDBOX_KEY, '12345678901', '08031234567')).toMatchObject({ success: true })
    } finally {
      // The shell, npx and the server.
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    }
  })
}

async function verifyNin(url: string, key: string, nin: string, phone: string): Promise<unknown> {
  const response = await fetch(`${url}/api/v2/kyc/verify-nin`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ nin, phone }),
  })
  return response.json()
}
