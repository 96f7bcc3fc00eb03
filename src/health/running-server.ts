import type { Config } from '../context/config.ts'
import { toListenerUrl } from '../http/address.ts'
import { nodeHttp } from '../http/node-http.ts'

const PROBE_TIMEOUT_MS = 2000

/** The address of a server of Tabbat on the configured port, if one answers there. */
export async function findRunningServer(config: Config): Promise<string | undefined> {
  return (await readAnswer(config, '/health/live'))?.includes('"live"')
    ? toListenerUrl(config, config)
    : undefined
}

/** Whether the server on the configured port can write its audit log; undefined if none answers there. */
export async function isServerWritable(config: Config): Promise<boolean | undefined> {
  const answer = await readAnswer(config, '/health/ready')
  return answer?.includes('"audit":') ? answer.includes('"audit":"ok"') : undefined
}

function readAnswer(config: Config, path: string): Promise<string | undefined> {
  if (config.port === 0) return Promise.resolve(undefined)
  const { promise, resolve: settle } = Promise.withResolvers<string | undefined>()
  const get = config.tlsCert === undefined ? nodeHttp.get : process.getBuiltinModule('node:https').get
  // Nothing is sent, and the name in the certificate may be another.
  const options = { timeout: PROBE_TIMEOUT_MS, rejectUnauthorized: false }
  const request = get(`${toListenerUrl(config, config)}${path}`, options, async (response) => {
    const pieces: Buffer[] = await response
      .take(1)
      .toArray()
      .catch(() => [])
    response.destroy()
    settle(Buffer.concat(pieces).toString())
  })
  request.on('timeout', () => request.destroy()).on('error', () => settle(undefined))
  return promise
}
