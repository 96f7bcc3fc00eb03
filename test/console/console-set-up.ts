import type { Browser } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import type { Role } from '../../src/contract/role.ts'
import { launch, type Visit, visit } from './browser.ts'
import { acceptInvitation, type ConsoleServer, startConsoleServer } from './console-server.ts'

type ConsoleSetUp = {
  readonly server: ConsoleServer
  readonly browser: Browser
  /** A page in which the account is signed in. */
  readonly visitor: Visit
}

type Options = { readonly start?: () => Promise<ConsoleServer>; readonly role?: Role; readonly name?: string }

/** A server, a browser and an account, for the tests of one `describe`. The members exist once its tests and later hooks run. */
export function setUpConsole({ start = startConsoleServer, role = 'owner', name = 'ada' }: Options = {}) {
  const at: { -readonly [Name in keyof ConsoleSetUp]?: ConsoleSetUp[Name] } = {}
  beforeAll(async () => {
    at.server = await start()
    at.browser = await launch()
    at.visitor = await visit(at.browser)
    await acceptInvitation(at.visitor.page, await at.server.invite(role), name)
  })
  afterAll(async () => {
    await at.browser?.close()
    await at.server?.stop()
  })
  return at as ConsoleSetUp
}
