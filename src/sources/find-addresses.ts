import { type LookupAddress, lookup, promises } from 'node:dns'

/** All addresses of a host. */
export type FindAddresses = (host: string) => Promise<readonly LookupAddress[]>

/** How long the system is asked alone, and then the name servers before what was found last counts. */
const ALONE_MS = 300
const MAX_REMEMBERED = 1000

/**
 * Asks the system, which knows more than the name servers: a file of hosts, a search list. But it keeps a thread for each question, and
 * Node.js has two for them: two hosts whose name servers are silent would block all others. So the system is asked one question at a
 * time, which leaves a thread to the database. After a moment the name servers are asked too, without a thread. Where they are silent as
 * well, what was found last counts.
 */
export function createFindAddresses(
  askSystem: FindAddresses = askThisSystem,
  askServers: FindAddresses = (host) => askNameServers(new promises.Resolver(LIMITS), host),
): FindAddresses {
  const bySystem = share(oneByOne(askSystem))
  const byServers = share(askServers)
  const last = new Map<string, readonly LookupAddress[]>()
  const find: FindAddresses = async (host) => {
    const asked = bySystem(host)
    if (await isSettledWithin(asked, ALONE_MS)) return asked
    return Promise.any([asked, findElsewhere(host)]).catch((error: AggregateError) =>
      Promise.reject(error.errors[0]),
    )
  }
  const findElsewhere: FindAddresses = async (host) => {
    const asked = byServers(host)
    const remembered = last.get(host)
    if (remembered && !(await isSettledWithin(asked, ALONE_MS))) return remembered
    return asked.catch((error) => remembered ?? Promise.reject(error))
  }
  return async (host) => {
    const found = await find(host)
    last.delete(host)
    last.set(host, found)
    const [oldest] = last.keys()
    if (last.size > MAX_REMEMBERED && oldest !== undefined) last.delete(oldest)
    return found
  }
}

/** Of those who ask for the same host at the same time, all get one answer. */
function share(ask: FindAddresses): FindAddresses {
  const running = new Map<string, Promise<readonly LookupAddress[]>>()
  return (host) => {
    const known = running.get(host)
    if (known) return known
    const asked = ask(host).finally(() => running.delete(host))
    running.set(host, asked)
    // If all callers have given up, its failure must not become an unhandled rejection.
    asked.catch(() => {})
    return asked
  }
}

function oneByOne(ask: FindAddresses): FindAddresses {
  let before: Promise<unknown> = Promise.resolve()
  return (host) => {
    const asked = before.then(() => ask(host))
    before = asked.catch(() => {})
    return asked
  }
}

async function isSettledWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false)
  })
  const settled = work.then(
    () => true,
    () => true,
  )
  try {
    return await Promise.race([settled, late])
  } finally {
    clearTimeout(timer)
  }
}

const askThisSystem: FindAddresses = (host) =>
  new Promise((resolve, reject) =>
    lookup(host, { all: true }, (error, found) => (error ? reject(error) : resolve(found))),
  )

/** A connection is given up after two seconds. */
const LIMITS = { timeout: 1000, tries: 2 }

/** IPv4 first; a connection tries both. Exported for tests, with servers of their own. */
export async function askNameServers(
  resolver: promises.Resolver,
  host: string,
): Promise<readonly LookupAddress[]> {
  const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const found = [
    ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 })) : []),
    ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 })) : []),
  ]
  if (found.length === 0) throw (four as PromiseRejectedResult).reason
  return found
}
