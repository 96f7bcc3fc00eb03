import { findPurposeProblem, toPurpose } from '../contract/free-text.ts'
import { InvalidSetting, type Setting, setting } from '../settings/setting.ts'

/** The settings of the rights of people. */
export const PEOPLE_SETTINGS = {
  purposes: setting(
    'TABBAT_PURPOSES',
    undefined,
    readPurposes,
    'Words that callers may send as X-Purpose, separated by commas, for example account-opening,loan. Another word gets 422; a request without the header is accepted. Unset: any word. See docs/people.md.',
  ),
} satisfies Record<string, Setting<unknown>>

function readPurposes(text: string): string[] {
  const purposes = text.split(',').map(toPurpose)
  for (const purpose of purposes) {
    const problem = findPurposeProblem(purpose, undefined)
    if (problem) throw new InvalidSetting(`must be words separated by commas; each ${problem}`)
  }
  return [...new Set(purposes)]
}
