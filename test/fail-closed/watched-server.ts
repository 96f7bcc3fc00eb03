import { loadConfig } from '../../src/context/config.ts'
import { SCOPES } from '../../src/contract/scope.ts'
import { createAdmission, toInFlightLimits } from '../../src/http/admission.ts'
import { createKey } from '../../src/keys/manage.ts'
import { createApiServer } from '../../src/server/api-server.ts'
import { createContext } from '../../src/server/create-context.ts'
import { createStandIn, withStandIn } from '../battery/stand-in.ts'

/** A server with one external source that counts its calls. Prints its address and a live key. */
const source = createStandIn(true)
const context = await createContext(loadConfig())
// A slow machine must not cause refusals.
const admission = {
  ...createAdmission(toInFlightLimits(context.config, context.nodes.count)),
  enter: () => undefined,
  leave: () => {},
}
const app = createApiServer(withStandIn(context, source), admission)
app.route({
  methods: ['GET'],
  path: '/calls',
  operation: 'calls',
  answer: () => ({ status: 200, headers: [], body: String(source.calls.length) }),
})
const deps = { ...context, keyring: context.keyring() }
const rights = { name: 'watched', scopes: SCOPES, expiresAt: undefined, allowedIps: undefined }
const { text } = await createKey(deps, { ...rights, mode: 'live' })
const url = await app.listen({ host: '127.0.0.1', port: 0 })
console.log(JSON.stringify({ url, key: text }))
process.once('SIGTERM', async () => {
  await app.close()
  await context.close()
  process.exit(0)
})
