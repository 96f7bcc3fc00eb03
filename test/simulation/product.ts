import { installClock } from './clock.ts'
import { ProcessDied } from './disk.ts'
import { type Defect, installHooks } from './hooks.ts'
import { loadProduct, processOf, world } from './world.ts'

type Product = Awaited<ReturnType<typeof load>>

let loaded: Product | undefined

/** The product, with the clock, disk and network of the simulation. */
export function product(): Product {
  if (!loaded) throw new Error('the product is not loaded')
  return loaded
}

/** Failures that no part of the product has caught, in this run. */
export const uncaught: string[] = []

export async function openProduct(defects: readonly Defect[] = []): Promise<void> {
  installHooks(defects)
  installClock()
  installEnd()
  loaded = await loadProduct(load)
}

const load = async () => ({
  ...(await import('../../src/server/create-context.ts')),
  ...(await import('../../src/server/api-server.ts')),
  ...(await import('../../src/context/config.ts')),
  ...(await import('../../src/context/sealed-store.ts')),
  ...(await import('../../src/context/store.ts')),
  ...(await import('../../src/http/local-request.ts')),
  ...(await import('../../src/telemetry/log.ts')),
  ...(await import('../../src/telemetry/otlp-tracing.ts')),
  ...(await import('../../src/keys/manage.ts')),
  ...(await import('../../src/webhooks/manage.ts')),
  ...(await import('../../src/people/erase-person.ts')),
  ...(await import('../../src/contract/scope.ts')),
  ...(await import('../../src/registry/rotate.ts')),
  ...(await import('../../src/registry/sealed-entry.ts')),
  ...(await import('../../src/sources/record.ts')),
  ...(await import('../../src/backup/write-backup.ts')),
  ...(await import('../../src/backup/restore-backup.ts')),
})

/** A process that ends itself dies alone. What it does not catch is a fault. */
function installEnd(): void {
  const realExit = process.exit.bind(process)
  process.exit = ((code?: number) => {
    const own = processOf.getStore()
    if (!own) return realExit(code)
    world().note(`${own.name} exits with ${code}`)
    world().kill(own)
    throw new ProcessDied()
  }) as typeof process.exit
  const realKill = process.kill.bind(process)
  process.kill = ((pid: number, signal?: string | number) => {
    if (!processOf.getStore()) return realKill(pid, signal)
    if (world().isRunning(pid)) return true
    throw Object.assign(new Error('no such process'), { code: 'ESRCH' })
  }) as typeof process.kill
  // What a run costs the machine decides nothing in it.
  process.cpuUsage = process.threadCpuUsage = () => ({ user: 0, system: 0 })
  process.on('unhandledRejection', (error) => noteUncaught(error))
}

export function noteUncaught(error: unknown): void {
  if (error instanceof ProcessDied || processOf.getStore()?.isAlive === false) return
  const { stack = String(error) } = error as Error
  uncaught.push(stack.split('\n').slice(0, 4).join(' | '))
}
