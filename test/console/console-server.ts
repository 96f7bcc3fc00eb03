import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Page } from 'playwright-core'
import type { Role } from '../../src/contract/role.ts'
import { newDataDir, type RunningServer, type Settings, startServer, tabbat } from '../process/tabbat.ts'

/** A running server with its own data folder. */
export type ConsoleServer = {
  readonly api: string
  readonly admin: string
  readonly dataDir: string
  /** A one-time link, from the command line. */
  readonly invite: (role: Role) => Promise<string>
  readonly run: (...args: string[]) => Promise<string>
  /** Stops the server and starts it on the same ports. */
  readonly restart: (meanwhile?: () => Promise<void>) => Promise<void>
  /** Moves all sessions back in time. */
  readonly ageSessions: (ms: number) => void
  readonly stop: () => Promise<void>
}

export const PASSWORD = 'correct horse battery staple'

export async function startConsoleServer(settings: Settings = {}): Promise<ConsoleServer> {
  const dataDir = newDataDir()
  const own: Settings = { TABBAT_DATA_DIR: dataDir, TABBAT_LOG_LEVEL: 'silent', ...settings }
  let server: RunningServer = await startServer(own)
  const admin = toAdminUrl(server)
  const api = server.url
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await tabbat(own, ...args)
    if (code !== 0) throw new Error(`tabbat ${args[0]} ended with ${code}: ${stderr}`)
    return stdout
  }
  return {
    api,
    admin,
    dataDir,
    run,
    invite: async (role) => {
      const made = JSON.parse(await run('admin', 'invite', '--role', role, '--url', admin, '--json'))
      return String(made.link)
    },
    restart: async (meanwhile = async () => {}) => {
      await server.stop()
      await meanwhile()
      const ports = { TABBAT_PORT: new URL(api).port, TABBAT_ADMIN_PORT: new URL(admin).port }
      server = await startServer({ ...own, ...ports })
    },
    ageSessions: (ms) => {
      const database = new DatabaseSync(join(dataDir, 'tabbat.db'), { timeout: 5000 })
      database
        .prepare(
          'UPDATE sessions SET created_at = created_at - ?1, seen_at = seen_at - ?1, confirmed_at = confirmed_at - ?1',
        )
        .run(ms)
      database.close()
    },
    stop: async () => {
      await server.stop()
    },
  }
}

function toAdminUrl({ banner }: RunningServer): string {
  const url = /console +(http:\S+)\/console/.exec(banner)?.[1]
  if (!url) throw new Error(`no console URL in the banner: ${banner}`)
  return url
}

/** Opens a one-time link and creates the account. */
export async function acceptInvitation(page: Page, link: string, name: string): Promise<void> {
  await page.goto(link)
  await page.getByRole('textbox', { name: 'Name' }).fill(name)
  await page.getByRole('textbox', { name: 'New password' }).fill(PASSWORD)
  await page.getByRole('textbox', { name: 'Repeat password' }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
}

export async function signIn(page: Page, name: string, password = PASSWORD): Promise<void> {
  await page.getByRole('textbox', { name: 'Name' }).fill(name)
  await page.getByRole('textbox', { name: 'Password' }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

export const go = (page: Page, title: string) =>
  page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: title, exact: true }).click()

/** A verification over the public API. */
export const verifyNin = (api: string, key: string, nin: string, phone = '08031234567') =>
  fetch(`${api}/api/v2/kyc/verify-nin`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ nin, phone }),
  })
