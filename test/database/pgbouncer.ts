import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '../free-port.ts'
import { execute } from '../postgres.ts'

/** PgBouncer in transaction mode: each transaction of a client may be on another connection of the server. */
export type PgBouncer = {
  /** The address of a database through PgBouncer. */
  readonly toUrl: (databaseUrl: string) => string
  /** Closes every connection to the server as soon as its transaction ends. */
  readonly reconnect: () => Promise<unknown>
  readonly stop: () => Promise<void>
}

/** Debian has it in /usr/sbin, which is not in every PATH. */
const PATH = `${process.env.PATH}:/usr/sbin`

/** Why it cannot be run here; undefined if it can. */
export function whyNoPgBouncer(): string | undefined {
  if (spawnSync('pgbouncer', ['--version'], { env: { PATH }, stdio: 'ignore' }).status === 0) return undefined
  return 'there is no pgbouncer on this machine (Debian: apt-get install pgbouncer)'
}

/** PgBouncer refuses to run as root; the account `nobody` runs it then. */
const account = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}

export async function startPgBouncer(serverUrl: string): Promise<PgBouncer> {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-pgbouncer-'))
  const { hostname, port: serverPort, username } = new URL(serverUrl)
  const port = await findFreePort()
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${serverPort}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${join(folder, 'users')}`,
    `admin_users = ${username}`,
    'pool_mode = transaction',
    'default_pool_size = 3',
  ]
  writeFileSync(join(folder, 'users'), `"${username}" ""\n`)
  writeFileSync(join(folder, 'pgbouncer.ini'), `${lines.join('\n')}\n`)
  if (account.uid !== undefined)
    for (const name of ['', 'users', 'pgbouncer.ini']) chownSync(join(folder, name), account.uid, account.gid)
  const child = spawn('pgbouncer', ['-q', join(folder, 'pgbouncer.ini')], {
    ...account,
    env: { PATH },
    stdio: 'ignore',
  })
  await waitForPort(port, child)
  const toUrl = (url: string) => Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).href
  return {
    toUrl,
    reconnect: () =>
      execute(Object.assign(new URL(toUrl(serverUrl)), { pathname: 'pgbouncer' }).href, 'RECONNECT'),
    stop: async () => {
      const closed = once(child, 'exit')
      child.kill('SIGINT')
      child.kill('SIGTERM')
      await closed
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function waitForPort(port: number, child: ChildProcess): Promise<void> {
  while (child.exitCode === null) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) return
  }
  throw new Error('PgBouncer did not start')
}
