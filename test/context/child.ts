import { once } from 'node:events'
import { openStore } from '../../src/context/store.ts'
import { migrate } from '../../src/database/migrate.ts'
import type { DatabaseOptions } from '../../src/database/open-database.ts'
import { interrupt, openDatabase } from '../database/interrupt.ts'
import { admitGuess } from '../ledger/commit-parts.ts'
import { toGuess } from '../ledger/guess.ts'

/** A task for another process, which prints one line when it is done. */
export type ChildTask = { readonly options: DatabaseOptions; readonly uid?: number } & (
  | { readonly do: 'open' }
  | { readonly do: 'fail'; readonly subject: string; readonly keyId: string; readonly times: number }
  | { readonly do: 'hang in migration'; readonly after: number }
)

const say = (line: unknown) => console.log(JSON.stringify(line))

async function run(task: ChildTask): Promise<void> {
  // After all files are loaded: this user may not be able to read the checkout.
  if (task.uid !== undefined) process.setuid?.(task.uid)
  if (task.do === 'hang in migration') return hangInMigration(task.options, task.after)
  const store = await openStore(task.options)
  if (task.do === 'open') say('opened')
  else {
    // All processes begin at the same time, when the test writes to their standard input.
    say('ready')
    await once(process.stdin, 'data')
    process.stdin.destroy()
    say(await failOften(store, task))
  }
  await store.close()
}

async function failOften(
  store: Awaited<ReturnType<typeof openStore>>,
  { subject, keyId, times }: Extract<ChildTask, { do: 'fail' }>,
): Promise<number> {
  const guess = { subject: Buffer.from(subject, 'hex'), keyId }
  const answers = await Promise.all(Array.from({ length: times }, () => admitGuess(store, toGuess(guess))))
  return answers.filter((answer) => answer === 'admitted').length
}

async function hangInMigration(options: DatabaseOptions, after: number): Promise<void> {
  const database = await openDatabase(options)
  const hang = () => {
    say('inside')
    setInterval(() => {}, 60_000)
    return new Promise<never>(() => {})
  }
  await migrate(interrupt(database, after, hang))
}

try {
  await run(JSON.parse(process.argv[2] ?? '') as ChildTask)
} catch (error) {
  say({ name: (error as Error).name, message: (error as Error).message })
}
