import { once } from 'node:events'
import { migrate } from '../../src/store/migrate.ts'
import { openStore, type StoreOptions } from '../../src/store/store.ts'
import { interrupt, openDatabase } from './interrupt.ts'

/** What a test asks another process to do; it says one line when it has. */
export type Errand = { readonly options: StoreOptions; readonly uid?: number } & (
  | { readonly do: 'open' }
  | { readonly do: 'fail'; readonly subject: string; readonly keyId: string; readonly times: number }
  | { readonly do: 'hang in the migration'; readonly after: number }
)

const say = (line: unknown) => console.log(JSON.stringify(line))

async function run(errand: Errand): Promise<void> {
  // Only now, when all files are read: this user may not be able to enter the checkout.
  if (errand.uid !== undefined) process.setuid?.(errand.uid)
  if (errand.do === 'hang in the migration') return hangInMigration(errand.options, errand.after)
  const store = await openStore(errand.options)
  if (errand.do === 'open') say('opened')
  else {
    // All processes begin together, when they are told to.
    say('ready')
    await once(process.stdin, 'data')
    process.stdin.destroy()
    say(await failOften(store, errand))
  }
  await store.close()
}

async function failOften(
  { guesses }: Awaited<ReturnType<typeof openStore>>,
  { subject, keyId, times }: Extract<Errand, { do: 'fail' }>,
): Promise<number> {
  const failure = {
    subject: Buffer.from(subject, 'hex'),
    keyId,
    at: 2,
    since: 1,
    mostByKey: 5,
    mostByAll: 20,
  }
  const answers = await Promise.all(Array.from({ length: times }, () => guesses.recordFailure(failure)))
  return answers.filter((counted) => counted).length
}

async function hangInMigration(options: StoreOptions, after: number): Promise<void> {
  const database = await openDatabase(options)
  const hang = () => {
    say('inside')
    setInterval(() => {}, 60_000)
    return new Promise<never>(() => {})
  }
  await migrate(interrupt(database, after, hang))
}

try {
  await run(JSON.parse(process.argv[2] ?? '') as Errand)
} catch (error) {
  say({ name: (error as Error).name, message: (error as Error).message })
}
