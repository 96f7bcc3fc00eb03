import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createClient } from '../battery/client.ts'
import { findFreePort } from '../free-port.ts'
import { type RunningProgram, runInBackground, waitUntil } from './programs.ts'

/** A proxy with TLS in front of nodes, with the configuration in deploy/. */
export type TlsProxy = {
  readonly url: string
  readonly ca: string
  readonly program: RunningProgram
  readonly readLog: () => string
}

export type HaProxy = TlsProxy & {
  /** How many nodes pass the check of this backend. */
  readonly countUp: (backend?: string) => Promise<number>
}

type Certificate = {
  readonly folder: string
  readonly cert: string
  readonly key: string
  readonly both: string
}

/** A certificate for localhost. */
function createCertificate(): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-proxy-'))
  const [cert, key, both] = ['cert.pem', 'key.pem', 'both.pem'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', '-x509', ...kind, ...names, '-keyout', key, '-out', cert], {
    stdio: 'ignore',
  })
  writeFileSync(both, readFileSync(cert, 'utf8') + readFileSync(key, 'utf8'), { mode: 0o600 })
  return { folder, cert, key, both }
}

const toNodes = (nodes: readonly string[]) =>
  Object.fromEntries(nodes.map((address, index) => [`TABBAT_NODE_${index + 1}`, address]))

const MAIN = 'deploy/haproxy/haproxy.cfg'

/** `more`: further files of deploy/haproxy, changes of the first, variables, and how many nodes are up before it returns. */
export async function startHaproxy(
  nodes: readonly string[],
  more: {
    readonly files?: readonly string[]
    readonly edit?: (config: string) => string
    readonly env?: Record<string, string>
    readonly up?: number
  } = {},
): Promise<HaProxy> {
  const { folder, cert, both } = createCertificate()
  const [port, statsPort] = [await findFreePort(), await findFreePort()]
  const main = more.edit ? join(folder, 'haproxy.cfg') : MAIN
  if (more.edit) writeFileSync(main, more.edit(readFileSync(MAIN, 'utf8')))
  const files = [main, ...(more.files ?? []).map((name) => `deploy/haproxy/${name}`)]
  const program = runInBackground('haproxy', ['-db', ...files.flatMap((file) => ['-f', file])], {
    env: {
      TABBAT_PROXY_BIND: `127.0.0.1:${port}`,
      TABBAT_PROXY_CERT: both,
      TABBAT_PROXY_STATS: `127.0.0.1:${statsPort}`,
      ...toNodes(nodes),
      ...more.env,
    },
  })
  const countUp = async (backend = 'tabbat') => {
    const table = await (await fetch(`http://127.0.0.1:${statsPort}/stats;csv`)).text()
    const rows = table.split('\n').map((line) => line.split(','))
    const state = rows[0]?.indexOf('status') ?? -1
    return rows.filter(
      ([name, server, ...rest]) => name === backend && /^node/.test(server ?? '') && rest[state - 2] === 'UP',
    ).length
  }
  const url = `https://localhost:${port}`
  await waitUntil('HAProxy answers', async () => (await countUp()) === (more.up ?? nodes.length))
  return { url, ca: readFileSync(cert, 'utf8'), program, readLog: program.output, countUp }
}

/** Does what envsubst does: see the head of the file. */
export async function startNginx(nodes: readonly [string, string]): Promise<TlsProxy> {
  const { folder, cert, key } = createCertificate()
  const port = await findFreePort()
  const values: Record<string, string> = {
    TABBAT_PROXY_BIND: `127.0.0.1:${port}`,
    TABBAT_PROXY_CERT: cert,
    TABBAT_PROXY_KEY: key,
    TABBAT_PROXY_LOG: join(folder, 'access.log'),
    ...toNodes(nodes),
  }
  const template = readFileSync('deploy/nginx/nginx.conf.template', 'utf8')
  const config = join(folder, 'nginx.conf')
  writeFileSync(
    config,
    template.replace(/\$\{(TABBAT_\w+)\}/g, (_match, name: string) => values[name] ?? ''),
  )
  const directives = `daemon off; pid ${join(folder, 'nginx.pid')};`
  const program = runInBackground('nginx', ['-p', folder, '-c', resolve(config), '-g', directives])
  const [url, ca] = [`https://localhost:${port}`, readFileSync(cert, 'utf8')]
  const client = createClient(1, ca)
  await waitUntil('nginx answers', async () => (await client.get(`${url}/health/live`)).status === 200)
  client.close()
  return {
    url,
    ca,
    program,
    readLog: () => readFileSync(join(folder, 'access.log'), 'utf8') + program.output(),
  }
}
