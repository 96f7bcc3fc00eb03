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

async function verifyNin(url: string, key: string, nin: string, phone: string): Promise<unknown> {
  const response = await fetch(`${url}/api/v2/kyc/verify-nin`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ nin, phone }),
  })
  return response.json()
}
