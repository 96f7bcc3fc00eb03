import { isVirtualNin } from '../contract/virtual-nin.ts'
import type { Kind } from '../crypto/blind-index.ts'
import { eraseAgain, toAgainEntries } from '../people/erase-again.ts'
import { erasePerson, isAnything, listErased } from '../people/erase-person.ts'
import { ERASURES_FILE, toErasureFolder } from '../people/erasures-file.ts'
import { addMissing } from '../people/keep-erasures-file.ts'
import { listRemains } from '../people/remains.ts'
import { say, sayJson, toCount, warn } from '../server/terminal.ts'
import type { Erased } from '../store/erase-rows.ts'
import { EXISTING, withCommandContext } from './command-context.ts'
import { readErasuresFiles } from './erasures-files.ts'
import { readNumber, requireReason } from './person-input.ts'
import { requireConfirmation } from './prompt.ts'

export type EraseOptions = { yes?: true; json?: true; reason?: string; numberFile?: string }

/** `onErased` may say more. */
export async function runErase(
  kind: Kind,
  options: EraseOptions,
  onErased: (number: string) => void = () => {},
): Promise<void> {
  const { yes, json, numberFile } = options
  const reason = options.reason === undefined ? undefined : requireReason(options.reason)
  const number = await readNumber(kind, numberFile)
  const name = isVirtualNin(number) ? 'virtual NIN' : kind.toUpperCase()
  await withCommandContext(async (context) => {
    await requireConfirmation(
      `Permanently erase all data stored about this ${name}?`,
      yes,
      'Nothing was erased.',
    )
    const { fileProblem, ...erased } = await erasePerson(context, kind, number, reason)
    if (json) sayJson(context, toJson(erased, number))
    else {
      sayErased(erased, name)
      if (isVirtualNin(number)) say(GIVE_THE_NIN)
      onErased(number)
    }
    if (fileProblem)
      warn(
        `the erasure could not be added to ${ERASURES_FILE} in ${toErasureFolder(context.config)} (${fileProblem}). A running server adds it within a minute, if it can write there. Without it, a restore of an older backup brings the person back.`,
      )
  }, EXISTING)
}

const GIVE_THE_NIN =
  'Data that is stored under the NIN behind it cannot be found by a virtual NIN. Run the command again with the NIN of the person.'

const sayErased = (erased: Erased, name: string) =>
  isAnything(erased)
    ? say(`Erased: ${listErased(erased)}.`)
    : say(`No data is stored under this ${name}. Nothing was erased.`)

export function sayRemains(number: string): void {
  for (const { what, why } of listRemains(number)) say(`Remains: ${what}. ${why}`)
}

const toJson = (erased: Erased, number: string) => ({
  erased: isAnything(erased),
  records: erased.records,
  pictures: erased.pictures,
  kept_answers: erased.keptAnswers,
  reused_results: erased.reusedResults,
  queued_verifications: erased.queued,
  remains: listRemains(number),
})

/** After a restore without the file, or with the tools of PostgreSQL. */
export async function runEraseAgain(
  paths: readonly string[],
  { yes, json }: Pick<EraseOptions, 'yes' | 'json'>,
): Promise<void> {
  await withCommandContext(async (context) => {
    const { config, store, keyring, audit } = context
    const files = await readErasuresFiles(paths, toErasureFolder(config))
    await requireConfirmation('Erase the people of these files again?', yes, 'Nothing was erased.')
    const again = await eraseAgain(store.erasure, keyring, files)
    if (again.length > 0) await audit.record(toAgainEntries(again, 'again from a file'))
    await addMissing(store.erasure, keyring, toErasureFolder(config))
    const found = again.filter(isAnything).length
    if (json) return sayJson(context, { applied: again.length, found })
    say(
      `${toCount(again.length, 'erasure')} applied again; data was found for ${found}. Erasures that this database knows were left out.`,
    )
  }, EXISTING)
}
