import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createKey } from '../../src/keys/manage.ts'
import { openTestConsole } from './test-console.ts'

it('a key that is revoked in the console is in revocations.log when the console is answered', async () => {
  const server = await openTestConsole()
  const { context } = server
  const options = { name: 'shop', mode: 'test', scopes: ['kyc:nin'], expiresAt: undefined } as const
  const { row } = await createKey(
    { store: context.store, keyring: context.keyring(), audit: context.audit },
    { ...options, allowedIps: undefined },
  )
  const cookie = await server.openSession('owner')
  const path = `/admin/keys/${row.id}/revoke`
  expect((await server.request(path, { cookie, body: {} })).status).toBe(200)
  const text = readFileSync(join(context.config.dataDir, 'revocations.log'), 'utf8')
  expect(text).toContain(`{"kind":"key","id":"${row.id}","state":"revoked"`)
  await server.close()
})
